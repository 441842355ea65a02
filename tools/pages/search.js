// Searches the index that the site brings: titles first, then texts; every word must be there.
(function () {
  const input = document.getElementById("search"), found = document.getElementById("found");
  if (window.matchMedia("(max-width: 800px)").matches) document.querySelector("nav details").removeAttribute("open");
  function show() {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    found.textContent = "";
    if (!words.length) return;
    const hits = [];
    for (const [page, title, text] of INDEX) {
      const name = title.toLowerCase(), body = text.toLowerCase();
      let score = 0;
      for (const word of words) {
        const here = name === word ? 100 : name.startsWith(word) ? 40 : name.includes(word) ? 20 : body.includes(word) ? 1 : 0;
        if (!here) { score = 0; break; }
        score += here;
      }
      if (score) hits.push([score - title.length / 100, page, title, text]);
    }
    hits.sort((a, b) => b[0] - a[0]);
    for (const [, page, title, text] of hits.slice(0, 20)) {
      const link = document.createElement("a"), about = document.createElement("small");
      link.href = page;
      link.textContent = title;
      about.textContent = text.slice(0, 110);
      link.append(about);
      found.append(link);
    }
    if (!hits.length) found.textContent = "Nothing has these words.";
  }
  input.addEventListener("input", show);
  input.addEventListener("keydown", (e) => { if (e.key === "Enter" && found.querySelector("a")) location = found.querySelector("a").href; if (e.key === "Escape") found.textContent = ""; });
  document.addEventListener("click", (e) => { if (!found.contains(e.target) && e.target !== input) found.textContent = ""; else if (e.target.closest("#found a")) setTimeout(() => (found.textContent = ""), 0); });
  document.addEventListener("keydown", (e) => { if (e.key === "/" && document.activeElement !== input) { e.preventDefault(); input.focus(); } });
})();
