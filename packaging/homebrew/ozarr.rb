# ozarr for Homebrew on Linux, which takes formulae from taps only:
#   brew tap-new --no-git ozarr/local && cp packaging/homebrew/ozarr.rb "$(brew --repository ozarr/local)/Formula/" && brew install --HEAD ozarr/local/ozarr
class Ozarr < Formula
  desc "Zarr arrays for simulation codes, from C, C++, Fortran and Julia"
  homepage "https://github.com/ozarr/ozarr"
  license any_of: ["MIT", "Apache-2.0"]
  head "https://github.com/ozarr/ozarr.git", branch: "main"

  depends_on "cmake" => :build
  depends_on "ninja" => :build
  depends_on "pkgconf" => [:build, :test]
  depends_on "python@3.13" => :build
  depends_on "rust" => :build
  depends_on "gcc"
  depends_on :linux

  def install
    system "cmake", "-S", ".", "-B", "build/brew", "-G", "Ninja", *std_cmake_args,
           "-DOZARR_TESTS=OFF", "-DOZARR_MPI=OFF", "-DOZARR_NETCDF=OFF",
           "-DOZARR_PYTHON=#{Formula["python@3.13"].opt_bin}/python3.13"
    system "cmake", "--build", "build/brew"
    system "cmake", "--install", "build/brew"
  end

  test do
    (testpath/"write.c").write <<~C
      #include <ozarr.h>
      int main(void) {
          int64_t shape[] = {4, 3};
          ozarr_array *t = NULL;
          if (ozarr_array_create("run.zarr/t", OZARR_FLOAT64, 2, shape, NULL, OZARR_CREATE_NEW, &t)) return 1;
          return ozarr_array_close(t) != 0;
      }
    C
    flags = shell_output("pkgconf --cflags --libs ozarr").split
    system ENV.cc, "write.c", "-o", "write", *flags
    system "./write"
    assert_match "float64", shell_output("#{bin}/ozarr info run.zarr/t")
  end
end
