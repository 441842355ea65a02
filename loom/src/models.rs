//! The list of models, and how each is run.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A model: its name, how many times a thread may lose its turn where it would not have to (`None`: as often as it can), and what is run.
pub type Model = (&'static str, Option<usize>, fn());

static RUNS: AtomicU64 = AtomicU64::new(0);

/// The number of this run of a model, counted from 1.
pub fn run_number() -> u64 {
    RUNS.load(Relaxed)
}

/// Runs the models that the command line names, and prints how many orders of each were tried.
pub fn run_all() {
    let (mut names, mut words, mut seconds) = (Vec::new(), std::env::args().skip(1), None);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--seconds" => seconds = words.next().and_then(|n| n.parse().ok()).map(Duration::from_secs),
            _ => names.push(word),
        }
    }
    let all = [crate::engine::models_locks::ALL, crate::engine::models_requests::ALL, crate::ffi::models::ALL, crate::store::models::ALL];
    let chosen: Vec<&Model> =
        all.into_iter().flatten().filter(|(name, ..)| names.is_empty() || names.iter().any(|n| name.starts_with(n))).collect();
    let (mut orders, mut cut) = (0, 0);
    for (name, turns, body) in &chosen {
        let (before, begun) = (run_number(), Instant::now());
        run(*turns, seconds, *body);
        let tried = run_number() - before;
        let ended_early = seconds.is_some_and(|most| begun.elapsed() >= most);
        orders += tried;
        cut += usize::from(ended_early);
        println!(
            "{name}: {tried} orders in {:.1} s{}",
            begun.elapsed().as_secs_f64(),
            if ended_early { ", and there are more" } else { "" }
        );
    }
    assert!(!chosen.is_empty(), "no model is called so");
    println!("loom: {} models, {orders} orders of their threads, {cut} models cut short: 0 lost, 0 stuck, 0 races", chosen.len());
}

fn run(turns: Option<usize>, seconds: Option<Duration>, body: fn()) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = turns;
    builder.max_branches = 20_000;
    builder.max_duration = seconds;
    builder.check(move || {
        RUNS.fetch_add(1, Relaxed);
        crate::sync::atomic::begin_run();
        body();
    });
}
