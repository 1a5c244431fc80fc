use super::{Cut, Region, number, place};
use crate::{ColumnKind, Domain, Feature, OneHot, Rational, RuleText, Schema, Task, compile};

#[test]
fn places_follow_the_order_of_floats() {
    let mut x = f32::MIN;
    assert_eq!(number(None, place(x)), f64::from(x));
    for x0 in [-1.0, -1e-45, -0.0, 0.0, 1e-45, f32::MIN_POSITIVE, 1.0, 3e38] {
        assert!(place(x) <= place(x0) && number(None, place(x0)) == f64::from(x0));
        assert_eq!(place(f32::next_up(x0)), place(x0) + 1);
        x = x0;
    }
}

/// Regions of a stepped feature hold its multiples and nothing else, whatever cuts them.
#[test]
fn multiples_of_a_step_are_counted() {
    for step in [0.25, 8.0] {
        let domain = Domain::Stepped { lo: -4.0 * step, hi: 12.0 * step, step };
        let features = vec![Feature { name: "t".into(), domain }];
        let schema = Schema { features, task: Task::regression(vec!["y".into()]), one_hot: OneHot::Full, filled: vec![] };
        let whole = Region::domain(&schema).unwrap();
        assert_eq!((whole.step(0), whole.range(0)), (Some(step.into()), Some((-4.0 * f64::from(step), 12.0 * f64::from(step)))));
        for at in [-5.0, -4.0, -0.3, 0.0, 0.5, 1.0, 11.9, 12.0, 13.0].map(|steps: f32| steps * step) {
            let [below, above] = whole.split(0, &Cut::At(at)).unwrap();
            let rule = RuleText { name: "r".into(), text: format!("t >= ({at}) => y >= 0") };
            // None where the domain decides.
            let condition = compile(&[rule], &schema).unwrap().conditions().pop();
            let mut cut = whole.clone();
            condition.iter().for_each(|atom| cut.cut(atom));
            for x in (-48..=128).map(|eighths| eighths as f32 / 8.0 * step) {
                let inside = (x / step).fract() == 0.0 && (-4.0..=12.0).contains(&(x / step));
                assert_eq!(whole.contains(&[x]), inside, "{x}");
                assert_eq!((below.contains(&[x]), above.contains(&[x])), (inside && x <= at, inside && x > at), "{x} {at}");
                let met = condition.as_ref().is_none_or(|atom| {
                    let v = atom.linear.at(&|_| Rational::try_from(x).unwrap());
                    if atom.strict { v > Rational::ZERO } else { v >= Rational::ZERO }
                });
                assert_eq!(cut.contains(&[x]), inside && met, "{x} {at}");
            }
        }
    }
}

/// Of every set of levels: the smallest and the largest value that the column of each has where one of these levels is taken.
#[test]
fn ranges_of_columns_are_those_of_the_levels_that_are_left() {
    let levels = ["a", "b", "c"].map(String::from).to_vec();
    let features = vec![Feature { name: "g".into(), domain: Domain::Category { levels } }];
    let schema = Schema { features, task: Task::regression(vec!["y".into()]), one_hot: OneHot::Full, filled: vec![] };
    assert_eq!(schema.column_ranges(), [(0.0, 1.0); 3]);
    let whole = Region::domain(&schema).unwrap();
    for set in 1..8usize {
        let left: Vec<usize> = (0..3).filter(|l| set >> l & 1 == 1).collect();
        let [region, _] = whole.split(0, &Cut::Levels(left.clone())).unwrap();
        for l in 0..3 {
            let values = left.iter().map(|taken| f64::from(u8::from(*taken == l)));
            let range = values.fold((1.0, 0.0), |(lo, hi): (f64, f64), v| (lo.min(v), hi.max(v)));
            assert_eq!(region.column_range(0, ColumnKind::Level(l)), Some(range), "{left:?} {l}");
        }
        assert_eq!((region.range(0), region.column_range(0, ColumnKind::Level(3))), (None, None));
    }
}
