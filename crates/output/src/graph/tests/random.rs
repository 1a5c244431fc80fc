//! Random shapes against the definition, one element at a time.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::super::broadcast::{choose, zip};
use super::super::value::Room;
use super::*;

const ROOM: Room = Room(1 << 20);

/// The element of `x` that stands at a place of a shape `x` is stretched to.
fn at<T: Copy>(x: &Array<T>, place: &[usize]) -> T {
    let own = &place[place.len() - x.dims.len()..];
    let index = own.iter().zip(&x.dims).fold(0, |index, (p, d)| index * d + if *d == 1 { 0 } else { *p });
    x.data[index]
}

/// All places of a shape, in order.
fn places(dims: &[usize]) -> Vec<Vec<usize>> {
    dims.iter().fold(vec![Vec::new()], |places, d| {
        places.iter().flat_map(|p| (0..*d).map(|i| [&p[..], &[i]].concat()).collect::<Vec<_>>()).collect()
    })
}

/// A shape that stretches to `dims`: some lengths are 1, some leading axes are missing.
fn shrunk(dims: &[usize], rng: &mut ChaCha8Rng) -> Vec<usize> {
    let first = if rng.random_bool(0.3) { rng.random_range(0..=dims.len()) } else { 0 };
    dims[first..].iter().map(|d| if rng.random_bool(0.4) { 1 } else { *d }).collect()
}

fn array<T>(dims: Vec<usize>, mut one: impl FnMut() -> T) -> Array<T> {
    let n = dims.iter().product();
    Array { dims, data: (0..n).map(|_| one()).collect() }
}

#[test]
fn pairs_and_choices_are_what_the_definition_says() {
    let mut rng = ChaCha8Rng::seed_from_u64(13);
    for _ in 0..3000 {
        let rank = rng.random_range(0..=4);
        let dims: Vec<usize> = (0..rank).map(|_| [0, 1, 2, 3, 4, 5, 9][rng.random_range(0..7usize)]).collect();
        let shape = [shrunk(&dims, &mut rng), shrunk(&dims, &mut rng), dims.clone()];
        let [a, b, full] = shape.map(|dims| array(dims, || rng.random_range(-1000i64..1000)));
        let condition = array(shrunk(&dims, &mut rng), || rng.random_bool(0.5));
        // With the full shape on one side, then on the other; not commutative.
        let f = |a: i64, b: i64| 3 * a - b;
        for (x, y) in [(&a, &full), (&full, &b)] {
            let expected: Vec<i64> = places(&dims).iter().map(|p| f(at(x, p), at(y, p))).collect();
            let found = zip(x, y, ROOM, |x, y| f(*x, *y)).unwrap();
            assert_eq!(found, Array { dims: dims.clone(), data: expected }, "{:?} {:?}", x.dims, y.dims);
        }
        for (c, x, y) in [(&condition, &a, &full), (&condition, &full, &b)] {
            let expected: Vec<i64> = places(&dims).iter().map(|p| if at(c, p) { at(x, p) } else { at(y, p) }).collect();
            let found = choose(c, x, y, ROOM).unwrap();
            assert_eq!(found, Array { dims: dims.clone(), data: expected }, "{:?} {:?} {:?}", c.dims, x.dims, y.dims);
        }
        // Neither side has the full shape: an axis that both have as 1 is 1.
        let found = zip(&a, &b, ROOM, |x, y| f(*x, *y)).unwrap();
        assert_eq!(found.data, places(&found.dims).iter().map(|p| f(at(&a, p), at(&b, p))).collect::<Vec<_>>());
        let whole = array(dims.clone(), || rng.random_bool(0.5));
        let found = choose(&whole, &a, &b, ROOM).unwrap();
        assert_eq!(found.data, places(&dims).iter().map(|p| at(if at(&whole, p) { &a } else { &b }, p)).collect::<Vec<_>>());
    }
}

#[test]
fn products_are_sums_from_left_to_right_bit_for_bit() {
    let mut rng = ChaCha8Rng::seed_from_u64(14);
    for round in 0..300 {
        let [n, k, m] = [rng.random_range(0..10usize), rng.random_range(0..40usize), rng.random_range(0..40usize)];
        let [a, b] = [[n, k], [k, m]].map(|d| array(d.to_vec(), || rng.random_range(-1.0..1.0f32)));
        let mut y = vec![0.0; n * m];
        for (r, c, l) in (0..n).flat_map(|r| (0..m).flat_map(move |c| (0..k).map(move |l| (r, c, l)))) {
            y[r * m + c] += a.data[r * k + l] * b.data[l * m + c];
        }
        let (a, b) = (Value::Float(a), Value::Float(b));
        let turn = |x: &Value, flag: i64| if flag == 1 { plain("Transpose", std::slice::from_ref(x)) } else { x.clone() };
        let (turn_a, turn_b) = (round % 2, round / 2 % 2);
        let attributes = [("transA", Attribute::Int(turn_a)), ("transB", Attribute::Int(turn_b))];
        assert_eq!(with("Gemm", &[turn(&a, turn_a), turn(&b, turn_b)], &attributes), float(&[n, m], &y));
        assert_eq!(plain("MatMul", &[a, b]), float(&[n, m], &y));
    }
}

#[test]
fn sums_over_random_axes_are_what_the_definition_says() {
    let mut rng = ChaCha8Rng::seed_from_u64(15);
    for _ in 0..500 {
        let rank = rng.random_range(1..=4usize);
        let dims: Vec<usize> = (0..rank).map(|_| rng.random_range(0..5)).collect();
        let x = array(dims.clone(), || rng.random_range(-1000i64..1000));
        let gone: Vec<bool> = (0..rank).map(|i| i == 0 || rng.random_bool(0.5)).collect();
        let axes: Vec<i64> =
            (0..rank).filter(|i| gone[*i]).map(|i| i as i64 - if rng.random_bool(0.5) { rank as i64 } else { 0 }).collect();
        let kept: Vec<usize> = dims.iter().zip(&gone).map(|(d, gone)| if *gone { 1 } else { *d }).collect();
        let among = |place: &[usize], of: &[usize]| place.iter().zip(of).zip(&gone).all(|((p, q), gone)| *gone || p == q);
        let sum = |o: &Vec<usize>| places(&dims).iter().filter(|p| among(p, o)).map(|p| at(&x, p)).sum::<i64>();
        let expected: Vec<i64> = places(&kept).iter().map(sum).collect();
        let found = with("ReduceSum", &[Value::Int(x.clone())], &[("axes", Attribute::Ints(axes))]);
        assert_eq!(found, int(&kept, &expected));
    }
}
