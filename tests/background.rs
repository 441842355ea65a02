//! Random programs on one array whose writes wait, and are stored by other threads, against an array in memory: whatever is called in
//! between sees all that was written before.

use ozarr::dtype::DataType;
use ozarr::engine::{Memory, Selection};
use ozarr::node::{Array, Context, Create, Format, Mode, Pending, RechunkOptions, RequestOptions, Spec, Store, VerifyOptions};
use ozarr::store::suite::{Random, TestFolder};

const FILL: i32 = -1;

/// What the array must hold.
struct Model {
    shape: [u64; 2],
    values: Vec<i32>,
}

impl Model {
    fn cells(&self, start: [u64; 2], count: [u64; 2]) -> impl Iterator<Item = usize> + use<> {
        let width = self.shape[1];
        (0..count[0] * count[1]).map(move |i| ((start[0] + i / count[1]) * width + start[1] + i % count[1]) as usize)
    }

    fn resize(&mut self, shape: [u64; 2]) {
        let old = |i: u64, j: u64| (i < self.shape[0] && j < self.shape[1]).then(|| self.values[(i * self.shape[1] + j) as usize]);
        self.values = (0..shape[0] * shape[1]).map(|k| old(k / shape[1], k % shape[1]).unwrap_or(FILL)).collect();
        self.shape = shape;
    }

    /// The chunks of that shape that have other elements than the fill value.
    fn chunks(&self, chunk: [u64; 2]) -> u64 {
        let of = |(k, _): (usize, &i32)| (k as u64 / self.shape[1] / chunk[0], k as u64 % self.shape[1] / chunk[1]);
        self.values.iter().enumerate().filter(|(_, v)| **v != FILL).map(of).collect::<std::collections::BTreeSet<_>>().len() as u64
    }
}

/// Memory of one element for each cell, whatever the number of elements that a cell of the array has.
fn view(data: &mut [i32], shape: &[u64]) -> Memory {
    let mut memory = Memory::of(data, shape, DataType::Int32);
    memory.strides.push(0);
    memory
}

struct Program {
    random: Random,
    store: Store,
    array: Array,
    model: Model,
    chunk: [u64; 2],
    /// The elements of a cell, which are all the same: so many that chunks are stored by another thread as soon as they are whole, or few.
    depth: u64,
    name: String,
    pending: Vec<Pending>,
    made: u64,
}

impl Program {
    fn region(&mut self) -> ([u64; 2], [u64; 2]) {
        let mut start = [0; 2];
        let mut count = [0; 2];
        for d in 0..2 {
            let whole = self.random.below(3) == 0;
            start[d] = if whole { 0 } else { self.random.below(self.model.shape[d]) };
            count[d] = if whole { self.model.shape[d] } else { 1 + self.random.below(self.model.shape[d] - start[d]) };
        }
        (start, count)
    }

    /// The elements of cells that are to be written; one of each that are to be read.
    fn selection(&self, start: [u64; 2], count: [u64; 2], write: bool) -> Selection {
        let [rows, columns] = self.model.shape;
        let (first, elements) = if write { (0, self.depth) } else { (self.depth - 1, 1) };
        let of = |[a, b]: [u64; 2], c: u64| [a as i64, b as i64, c as i64];
        Selection::new(&[rows, columns, self.depth], &of(start, first), &of(count, elements), None).unwrap()
    }

    fn write(&mut self, later: bool) {
        let (start, count) = self.region();
        let value = self.random.below(1000) as i32 - 1;
        let mut data: Vec<i32> = (0..count[0] * count[1]).map(|i| if value < 100 { FILL } else { value + (i % 7) as i32 }).collect();
        for (cell, v) in self.model.cells(start, count).zip(&data) {
            self.model.values[cell] = *v;
        }
        let (selection, memory) = (self.selection(start, count, true), view(&mut data, &count));
        // SAFETY: the elements live as long as the call, and are copied by the other one.
        unsafe {
            if later {
                let options = RequestOptions { copy: true, ..RequestOptions::default() };
                self.pending.push(self.array.start_write(&selection, &memory, options).unwrap());
            } else {
                self.array.write(&selection, &memory).unwrap();
            }
        }
    }

    fn read(&mut self, array: &Array) {
        let (start, count) = self.region();
        let mut data = vec![0; (count[0] * count[1]) as usize];
        // SAFETY: the memory lives as long as the call.
        unsafe { array.read(&self.selection(start, count, false), &view(&mut data, &count)).unwrap() };
        for (cell, v) in self.model.cells(start, count).zip(&data) {
            assert_eq!(self.model.values[cell], *v, "{start:?} {count:?} {cell}");
        }
    }

    fn all(&self, array: &Array) -> Vec<i32> {
        let mut data = vec![0; self.model.values.len()];
        // SAFETY: the memory lives as long as the call.
        unsafe { array.read(&self.selection([0, 0], self.model.shape, false), &view(&mut data, &self.model.shape)).unwrap() };
        data
    }

    /// Everything that waits in this handle is stored, for what goes by other ones.
    fn store_parts(&mut self) {
        if self.random.below(2) == 0 {
            self.array.flush().unwrap();
        } else {
            self.array.set_write_back(0).unwrap();
            self.array.set_write_back(8 << 20).unwrap();
        }
    }

    fn step(&mut self) -> &'static str {
        match self.random.below(18) {
            0..=4 => {
                self.write(false);
                "write"
            }
            5..=7 => {
                self.write(true);
                "start to write"
            }
            8 => {
                let array = self.array.clone();
                self.read(&array);
                "read"
            }
            9 => {
                assert_eq!(self.array.chunk_count(false).unwrap(), self.model.chunks(self.chunk));
                "count"
            }
            10 => {
                assert_eq!(self.array.usage().unwrap().chunks, self.model.chunks(self.chunk));
                "usage"
            }
            11 => {
                let shape = [1 + self.random.below(24), 1 + self.random.below(24)];
                self.array.resize(&[shape[0], shape[1], self.depth], false).unwrap();
                self.model.resize(shape);
                "resize"
            }
            12 => {
                let n = 1 + self.random.below(5);
                let mut data: Vec<i32> = (0..n * self.model.shape[1]).map(|i| i as i32).collect();
                let (old, width) = (self.model.shape, self.model.shape[1]);
                // SAFETY: the memory lives as long as the call.
                unsafe { self.array.append(0, n, &view(&mut data, &[n, width])).unwrap() };
                self.model.resize([old[0] + n, width]);
                self.model.values[(old[0] * width) as usize..].copy_from_slice(&data);
                "append"
            }
            13 => {
                let index = [0, 1].map(|d| self.random.below(self.model.shape[d].div_ceil(self.chunk[d])));
                self.array.chunk_erase(&[index[0], index[1], 0], false).unwrap();
                for k in 0..self.model.values.len() as u64 {
                    let at = [k / self.model.shape[1] / self.chunk[0], k % self.model.shape[1] / self.chunk[1]];
                    if at == index {
                        self.model.values[k as usize] = FILL;
                    }
                }
                "erase a chunk"
            }
            14 => {
                self.store_parts();
                let to = format!("copy{}", self.made);
                self.made += 1;
                let (changes, chunks) = (self.random.below(2) == 0, [1 + self.random.below(9), 1 + self.random.below(9), self.depth]);
                let mut change = |_: &str, spec: &mut Spec| {
                    if changes { spec.set_chunks(&chunks).and_then(|()| spec.unset_inner_chunks()) } else { Ok(()) }
                };
                self.store
                    .rechunk_node(&self.name, (&self.store, &to), RechunkOptions::default(), &mut change, &mut |_, _| Ok(()))
                    .unwrap();
                assert_eq!(self.all(&Array::open(&self.store, &to).unwrap()), self.model.values);
                self.store.erase_node(&to).unwrap();
                "copy with changes"
            }
            15 => {
                self.store_parts();
                let to = format!("copy{}", self.made);
                self.made += 1;
                self.store.copy_node(&self.name, (&self.store, &to), Create::New, false, &mut |_, _| Ok(())).unwrap();
                assert_eq!(self.all(&Array::open(&self.store, &to).unwrap()), self.model.values);
                self.store.rename_node(&to, "elsewhere").unwrap();
                assert_eq!(self.all(&Array::open(&self.store, "elsewhere").unwrap()), self.model.values);
                self.store.erase_node("elsewhere").unwrap();
                "copy"
            }
            16 => {
                self.store_parts();
                let other = Array::open(&self.store, &self.name).unwrap();
                self.read(&other);
                let mut faults = 0;
                let mut each = |_: &ozarr::node::Fault| {
                    faults += 1;
                    Ok(())
                };
                self.store.verify("", VerifyOptions::default(), &mut each, &mut |_, _| Ok(())).unwrap();
                assert_eq!(faults, 0);
                "verify"
            }
            _ => {
                self.array.close().unwrap();
                let to = format!("array{}", self.made);
                self.made += 1;
                self.store.rename_node(&self.name, &to).unwrap();
                self.name = to;
                self.array = Array::open(&self.store, &self.name).unwrap();
                self.array.set_write_back(8 << 20).unwrap();
                "rename"
            }
        }
    }
}

/// The number of programs; more in the long checks.
fn programs() -> u64 {
    if std::env::var_os("OZARR_DEEP").is_some() { 400 } else { 6 }
}

const STEPS: usize = 60;

#[test]
fn whatever_is_called_sees_what_was_written_before_by_whichever_thread_it_is_stored() {
    for seed in 0..programs() {
        let folder = TestFolder::new("background");
        let context = Context::with_threads(1 + (seed % 4) as usize);
        let store = if seed % 3 == 0 {
            Store::memory(&context)
        } else {
            Store::open(&context, folder.to_str().unwrap(), Mode::ReadWrite, &[]).unwrap()
        };
        let mut random = Random(seed * 77 + 5);
        let shape = [1 + random.below(24), 1 + random.below(24)];
        let chunk = if seed % 4 == 1 { [8, 8] } else { [1 + random.below(9), 1 + random.below(9)] };
        let depth = if seed % 2 == 0 { 1 } else { 4096 };
        let mut spec = Spec::new(DataType::Int32, &[shape[0], shape[1], depth]).unwrap();
        spec.set_chunks(&[chunk[0], chunk[1], depth]).unwrap();
        spec.set_fill_json("-1").unwrap();
        if seed % 5 == 2 {
            spec.set_format(Format::V2).unwrap();
        } else if seed % 5 == 3 {
            spec.set_dimension_names(["x", "y", "z"].map(|name| Some(name.to_string())).to_vec()).unwrap();
        }
        if seed % 4 == 1 && seed % 5 != 2 {
            spec.set_inner_chunks(&[4, 2, depth]).unwrap();
        }
        let array = Array::create(&store, "a", &spec, Create::New).unwrap();
        array.set_write_back(8 << 20).unwrap();
        let model = Model { shape, values: vec![FILL; (shape[0] * shape[1]) as usize] };
        let mut program = Program { random, store, array, model, chunk, depth, name: "a".into(), pending: Vec::new(), made: 0 };
        let mut told: Vec<&str> = Vec::new();
        for _ in 0..STEPS {
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| program.step()));
            match done {
                Ok(step) => told.push(step),
                Err(e) => {
                    eprintln!("program {seed}, after {told:?}");
                    std::panic::resume_unwind(e);
                }
            }
        }
        for pending in &program.pending {
            pending.wait(None).unwrap();
        }
        program.array.close().unwrap();
        assert_eq!(program.all(&Array::open(&program.store, &program.name).unwrap()), program.model.values, "program {seed}");
    }
}
