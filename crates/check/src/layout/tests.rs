use super::Layout;
use crate::common::{Rng, point};
use crate::dyadic::Dyadic;
use deepsade_spec::{Atom, Cut, Domain, Feature, Linear, OneHot, Rational, Region, Schema, Task, Var};

fn schema() -> Schema {
    let feature = |name: &str, domain| Feature { name: name.into(), domain };
    Schema {
        features: vec![
            feature("x", Domain::Real { lo: -2.0, hi: 3.0 }),
            feature("n", Domain::Integer { lo: -3, hi: 4 }),
            feature("k", Domain::Category { levels: ["p", "q", "r"].map(String::from).to_vec() }),
        ],
        task: Task::regression(vec!["a".into()]),
        one_hot: OneHot::DropFirst,
        filled: vec![],
    }
}

#[test]
fn a_split_loses_no_point_and_doubles_none() {
    let (schema, rng) = (schema(), &mut Rng(5));
    let whole = Region::domain(&schema).unwrap();
    for _ in 0..3000 {
        let x = point(&schema, rng);
        let (feature, cut) = match rng.below(3) {
            0 => (0, Cut::At([x[0], -0.0, 0.0, f32::MAX, f32::MIN, rng.weight() * 4.0][rng.below(6)])),
            1 => (1, Cut::At([x[1], x[1] + 0.5, f32::MAX, f32::MIN, rng.weight() * 9.0][rng.below(5)])),
            _ => (2, Cut::Levels((0..3).filter(|_| rng.below(2) == 0).collect())),
        };
        let [below, above] = whole.split(feature, &cut).unwrap();
        assert!(below.contains(&x) != above.contains(&x), "{cut:?} {x:?}");
        let expected = match &cut {
            Cut::At(at) => x[feature] <= *at,
            Cut::Levels(levels) => levels.contains(&(x[2] as usize)),
        };
        assert_eq!(below.contains(&x), expected, "{cut:?} {x:?}");
        assert!(!below.contains(&x) || !below.is_empty());
    }
}

#[test]
fn a_cut_keeps_exactly_the_points_of_the_atom() {
    let (schema, rng) = (schema(), &mut Rng(6));
    let exact = |x: f32| Rational::try_from(x).unwrap();
    for _ in 0..3000 {
        let x = point(&schema, rng);
        let var = [Var::Feature(0), Var::Feature(1), Var::Level(2, rng.below(3))][rng.below(3)];
        let c = Rational::from(rng.below(2) as i64 * 2 - 1) * exact(0.25 + rng.weight().abs());
        let value = |var: Var| match var {
            Var::Feature(f) => exact(x[f]),
            Var::Level(f, l) => Rational::from(u8::from(x[f] as usize == l)),
            Var::Output(_) => unreachable!(),
        };
        // Often exactly at the point, or a hair beside it.
        let hair = [Rational::ZERO, exact(1e-45), exact(-1e-45), exact(rng.weight())][rng.below(4)].clone();
        let mut linear = Linear::var(var).scaled(&c);
        linear.constant = hair - &c * value(var);
        let atom = Atom { linear, strict: rng.below(2) == 0 };
        let mut region = Region::domain(&schema).unwrap();
        region.cut(&atom);
        let v = atom.linear.at(&value);
        let holds = if atom.strict { v > Rational::ZERO } else { v >= Rational::ZERO };
        assert_eq!(region.contains(&x), holds, "{atom:?} {x:?}");
        assert!(!holds || !region.is_empty());
    }
}

#[test]
fn the_largest_value_is_reached_and_not_passed() {
    let mut schema = schema();
    for one_hot in [OneHot::Full, OneHot::DropFirst] {
        schema.one_hot = one_hot;
        let (layout, rng) = (Layout::new(&schema), &mut Rng(7));
        let region = Region::domain(&schema).unwrap();
        for _ in 0..200 {
            let coefficients: Vec<f32> = (0..layout.width()).map(|_| rng.weight()).collect();
            let dyadic: Vec<Dyadic> = coefficients.iter().map(|c| Dyadic::from(*c)).collect();
            let most = layout.most(&region, &dyadic);
            let mut best = Dyadic::int(-1000);
            for corner in 0..12 {
                let x = [[-2.0, 3.0][corner % 2], [-3.0, 4.0][corner / 2 % 2], (corner / 4) as f32];
                let mut sum = Dyadic::default();
                for (c, v) in dyadic.iter().zip(crate::common::row(&schema, &x)) {
                    sum.add_product(c, &Dyadic::from(v));
                }
                best = best.max(sum);
            }
            assert_eq!(most, best);
        }
    }
}

#[test]
fn a_level_without_a_column_is_one_minus_the_others() {
    let mut schema = schema();
    for one_hot in [OneHot::Full, OneHot::DropFirst] {
        schema.one_hot = one_hot;
        let layout = Layout::new(&schema);
        for level in 0..3 {
            let (mut columns, mut constant) = (vec![Dyadic::default(); layout.width()], Dyadic::default());
            layout.add(Var::Level(2, level), &Dyadic::int(7), &mut columns, &mut constant);
            layout.add(Var::Feature(1), &Dyadic::int(3), &mut columns, &mut constant);
            for here in 0..3 {
                let row = crate::common::row(&schema, &[0.5, 2.0, here as f32]);
                let sum = columns.iter().zip(row).fold(constant.clone(), |sum, (c, x)| &sum + &(c * &Dyadic::from(x)));
                assert_eq!(sum, Dyadic::int(6 + 7 * i32::from(here == level)));
            }
        }
    }
}
