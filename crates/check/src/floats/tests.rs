use crate::certificate::{Arithmetic, Bounds};
use crate::common::{Rng, Runtime, act, dense, pictures, point, row};
use crate::dyadic::{Dyadic, Interval};
use crate::floats::lines::{LowerSlopes, relu};
use crate::floats::{FloatScratch, Floats, near, pool_lines};
use crate::layout::Layout;
use crate::linear::Form;
use crate::machine::Machine;
use crate::pool;
use deepsade_net::{Activation, Network, Node, Op};
use deepsade_spec::{Cut, Domain, Feature, OneHot, Region, Schema, Task};

fn schema(scale: f32, features: usize) -> Schema {
    let domain = |k: usize| match k % 4 {
        1 => Domain::Category { levels: ["p", "q", "r"].map(String::from).to_vec() },
        2 => Domain::Integer { lo: -2, hi: 3 },
        _ => Domain::Real { lo: -scale, hi: scale },
    };
    Schema {
        features: (0..features).map(|k| Feature { name: format!("x{k}"), domain: domain(k) }).collect(),
        task: Task::regression(vec!["a".into()]),
        one_hot: [OneHot::Full, OneHot::DropFirst][features % 2],
        filled: vec![],
    }
}

/// All operations that float64 bounds: affine, dense, activations, a skip connection.
fn network(inputs: usize, f: Activation, size: f32, rng: &mut Rng) -> Network {
    let mut list = |n: usize| (0..n).map(|_| rng.weight() * size).collect::<Vec<_>>();
    let nodes = vec![
        Node { op: Op::Affine { scale: list(inputs), shift: list(inputs) }, from: vec![0] },
        dense(7, inputs, list(7 * inputs), list(7), 1),
        act(Activation::Relu, 2),
        dense(6, 7, list(42), list(6), 3),
        act(f, 4),
        Node { op: Op::Select((0..inputs).rev().collect()), from: vec![0] },
        Node { op: Op::Concat, from: vec![5, 6] },
        dense(5, 6 + inputs, list(5 * (6 + inputs)), list(5), 7),
        act(Activation::Relu, 8),
        dense(2, 5, list(10), list(2), 9),
    ];
    Network { inputs, nodes }
}

const KINDS: [Bounds; 3] = [Bounds::Interval, Bounds::Relational, Bounds::Inherited];

/// On a region and on a half of it, which inherits: both arithmetics say the same but for a slope that is rounded to float32 from ends
/// that differ in the last bit; and no evaluation leaves the float64 bounds.
#[test]
fn float64_agrees_with_exact_arithmetic() {
    let (rng, scratch) = (&mut Rng(21), &mut FloatScratch::new());
    for case in 0..150 {
        let f = [Activation::Relu, Activation::Relu, Activation::Tanh, Activation::Sigmoid][case % 4];
        let (scale, size) = [(1.0, 1.0), (100.0, 3.0), (1e-38, 1.0), (1e-20, 1e-19), (0.0, 1.0)][case % 5];
        let schema = schema(scale, 4 + case % 3);
        let layout = Layout::new(&schema);
        let network = if case % 3 == 2 { pictures(layout.width(), 2, size, rng) } else { network(layout.width(), f, size, rng) };
        network.validate().unwrap();
        let whole = Region::domain(&schema).unwrap();
        let [half, _] = whole.split(0, &Cut::At(0.0)).unwrap();
        for arithmetic in [Arithmetic::Float32, Arithmetic::Real] {
            let machine = Machine { network: &network, layout: &layout, arithmetic };
            let floats = Floats::new(&machine).unwrap();
            for bounds in KINDS {
                let (known, boxes) =
                    (machine.known(&whole, bounds).unwrap(), floats.boxes(&whole, bounds, None, scratch).unwrap());
                let below = machine.known_within(&half, bounds, Some(&known)).unwrap();
                let inherited = floats.boxes(&half, bounds, Some(&boxes), scratch).unwrap();
                for (known, boxes) in [(&known, &boxes), (&below, &inherited)] {
                    for (v, value) in known.values.iter().enumerate() {
                        for (i, exact) in value.iter().enumerate() {
                            let (lo, hi) = (boxes.lo[v][i], boxes.hi[v][i]);
                            let most = exact.size().f64_up();
                            // An interval has no slopes: there float64 is never inside. Where a sign is known exactly and open in
                            // float64, lines are asked for here alone, and may be better.
                            let inside = match bounds {
                                Bounds::Interval => 0.0,
                                Bounds::Relational if case % 3 != 2 => 1e-6 * most,
                                Bounds::Relational | Bounds::Inherited => f64::INFINITY,
                            };
                            assert!(lo - exact.lo.f64_up() <= inside && exact.hi.f64_down() - hi <= inside, "{case} {v} {i}");
                            let smooth = if f == Activation::Relu { 0.0 } else { 1e-8 };
                            // Of two columns of a pool with nearly equal ends each arithmetic may take another; an end may be next to
                            // zero by chance, or next to what is flushed.
                            let either = match (case % 3, bounds) {
                                (2, Bounds::Interval) => 1e-9 * f64::from(size),
                                (2, _) => f64::INFINITY,
                                _ => 0.0,
                            };
                            let apart = 1e-6 * most + f64::from(scale) * 1e-9 + smooth + 1e-43 + either;
                            assert!(exact.lo.f64_down() - lo <= apart && hi - exact.hi.f64_up() <= apart, "{case} {v} {i}");
                        }
                    }
                }
                for k in 0..if arithmetic == Arithmetic::Float32 { 60 } else { 0 } {
                    let mut x = point(&schema, rng);
                    x[0] = -x[0].abs();
                    let values = Runtime { rng, flush: k % 2 == 0 }.values(&network, &row(&schema, &x));
                    for (v, value) in values.iter().enumerate() {
                        for (i, y) in value.iter().enumerate() {
                            let y = f64::from(*y);
                            assert!(inherited.lo[v][i] <= y && y <= inherited.hi[v][i], "{case} {bounds:?} {v} {i}: {y:e}");
                        }
                    }
                }
            }
        }
    }
}

/// The lemma, on forms: with the same boxes and slopes the float64 bound is no less than the exact one, and not much more.
#[test]
fn a_bound_in_float64_is_no_less_than_the_exact_one() {
    let (rng, scratch) = (&mut Rng(22), &mut FloatScratch::new());
    for case in 0..200 {
        let schema = schema([1.0, 50.0][case % 2], 4);
        let layout = Layout::new(&schema);
        let network = match case % 3 {
            0 => pictures(layout.width(), 2, 1.0, rng),
            _ => network(layout.width(), Activation::Relu, 1.0, rng),
        };
        let whole = Region::domain(&schema).unwrap();
        let machine = Machine { network: &network, layout: &layout, arithmetic: Arithmetic::Real };
        let (floats, known) = (Floats::new(&machine).unwrap(), machine.known(&whole, Bounds::Interval).unwrap());
        let mut boxes = floats.boxes(&whole, Bounds::Interval, None, scratch).unwrap();
        for (v, value) in known.values.iter().enumerate() {
            // Exactly the same ends on both sides, so that all slopes are the same, too.
            boxes.lo[v] = value.iter().map(|x| x.lo.f64_down()).collect();
            boxes.hi[v] = value.iter().map(|x| x.hi.f64_up()).collect();
        }
        let mut same = known.clone();
        for (v, value) in same.values.iter_mut().enumerate() {
            for (i, x) in value.iter_mut().enumerate() {
                (x.lo, x.hi) = (Dyadic::float(boxes.lo[v][i]), Dyadic::float(boxes.hi[v][i]));
            }
        }
        let last = network.nodes.len();
        let mut form = Form::new(layout.width(), last);
        form.constant = Dyadic::from(rng.weight());
        form.add(last, 2, [(0, Dyadic::from(rng.weight())), (1, Dyadic::from(rng.weight()))].into_iter());
        form.add(0, layout.width(), (0..layout.width()).map(|i| (i, Dyadic::from(rng.weight()))));
        let slope = |rng: &mut Rng| rng.below(257);
        let slopes: Vec<((usize, usize), usize)> = (0..7).map(|i| ((2, i), slope(rng))).collect();
        same.slopes = slopes.iter().map(|(at, n)| (*at, Dyadic::from(*n as f32 / 256.0))).collect();
        let as_floats: LowerSlopes = slopes.iter().map(|(at, n)| (*at, *n as f64 / 256.0)).collect();
        for bounds in [Bounds::Interval, Bounds::Relational] {
            let exact = machine.upper(form.clone(), &same, &whole, bounds, None);
            let mut start = super::Forms::<1>::new(last);
            start.add(0, near(&form.constant));
            for (v, coefficients) in form.coefficients.iter().enumerate().filter(|(_, c)| !c.is_empty()) {
                start.a[v].extend(coefficients.iter().enumerate().map(|(i, c)| (i, [near(c)])));
            }
            let FloatScratch(_, lines) = &mut *scratch;
            lines.clear(bounds);
            floats.extend(lines, &boxes, &as_floats);
            let [upper] = floats.upper(&mut start, &boxes, &layout.input_ends(&whole), lines);
            assert!(Dyadic::float(upper.most) >= exact, "case {case}: {} and {}", upper.most, exact.f64_up());
            assert!(upper.most <= exact.f64_up() + 1e-9 * upper.size, "case {case}: {} and {}", upper.most, exact.f64_up());
        }
    }
}

#[test]
fn lines_in_float64_are_no_lower_than_relu() {
    let rng = &mut Rng(23);
    for _ in 0..5000 {
        let (x, y) = (f64::from(rng.weight()) * 3.0, f64::from(rng.weight()) * [1.0, 1e-30, 1e30][rng.below(3)]);
        let (l, u) = (x.min(y), x.max(y));
        let [(s, offset), (below, _)] = relu(l, u, [None, Some(0.25)][rng.below(2)]);
        for at in [l, u, 0.0f64.clamp(l, u)] {
            let exact = |s: f64, t: f64| &(&Dyadic::float(s) * &Dyadic::float(at)) + &Dyadic::float(t);
            assert!(exact(s, offset) >= Dyadic::float(at.max(0.0)), "{l} {u}");
            assert!(exact(below, 0.0) <= Dyadic::float(at.max(0.0)), "{l} {u}");
        }
    }
}

/// Lines over windows: above the largest number and below it at every corner, in float64 and exactly.
#[test]
fn lines_of_a_pool_hold_at_every_corner() {
    let rng = &mut Rng(25);
    for _ in 0..3000 {
        let n = 1 + rng.below(4);
        let number = |rng: &mut Rng| f64::from(rng.weight()) * [1.0, 1e-30, 1e30, 0.0][rng.below(4)];
        let ends: Vec<(f64, f64)> = (0..n).map(|_| (number(rng), number(rng))).map(|(a, b)| (a.min(b), a.max(b))).collect();
        let (lo, hi): (Vec<f64>, Vec<f64>) = ends.iter().copied().unzip();
        let columns: Vec<usize> = (0..n).collect();
        let [above, below] = pool_lines(&columns, &lo, &hi);
        let boxed: Vec<Interval> =
            ends.iter().map(|(lo, hi)| Interval { lo: Dyadic::float(*lo), hi: Dyadic::float(*hi) }).collect();
        for corner in 0..1usize << n {
            let at = |i: usize| Dyadic::float(if corner >> i & 1 == 0 { lo[i] } else { hi[i] });
            let most = (0..n).map(at).max().unwrap();
            let line = |(c, s, t): (usize, f64, f64)| &(&Dyadic::float(s) * &at(c)) + &Dyadic::float(t);
            assert!(line(above) >= most && line(below) <= most, "{ends:?}");
            for a in [Dyadic::int(3), Dyadic::int(-3)] {
                let (c, s, t) = pool::line(&a, &columns, &boxed);
                assert!(&(&s * &at(c)) + &t >= &a * &most, "{ends:?}");
            }
        }
    }
}

/// What overflows in float64 refutes nothing.
#[test]
fn a_coefficient_beyond_float64_bounds_nothing() {
    let schema = schema(1.0, 4);
    let layout = Layout::new(&schema);
    let network = network(layout.width(), Activation::Relu, 1.0, &mut Rng(24));
    let whole = Region::domain(&schema).unwrap();
    let machine = Machine { network: &network, layout: &layout, arithmetic: Arithmetic::Real };
    let floats = Floats::new(&machine).unwrap();
    let scratch = &mut FloatScratch::new();
    let boxes = floats.boxes(&whole, Bounds::Relational, None, scratch).unwrap();
    for (a, constant) in [(2000, -1), (1000, -1), (-1500, 1), (10, -1)] {
        let mut form = Form::new(layout.width(), network.nodes.len());
        form.constant = &Dyadic::int(constant) * &Dyadic::power(1100);
        form.add(network.nodes.len(), 2, [(0, Dyadic::power(a)), (1, -&Dyadic::power(a))].into_iter());
        let upper = floats.most(&form, (&boxes, &whole), Bounds::Relational, (&LowerSlopes::new(), scratch));
        assert!(upper.most.is_nan() || upper.most >= 0.0, "{a}: {}", upper.most);
    }
}
