use super::{Dyadic, LONG};
use dashu::integer::IBig;

#[test]
fn floats_are_taken_exactly_and_given_back() {
    for x in [0.0, -0.0, 1.0, -1.5, 0.1, 1e-310, -f64::MIN_POSITIVE, 5e-324, f64::from(f32::MAX), 3e-45, -1e300] {
        let d = Dyadic::float(x);
        if x == 0.0 || x.abs() >= 1e-300 && x.abs() < 1e280 {
            assert_eq!((d.f64_down(), d.f64_up()), (x, x));
        }
        assert!(d.f64_down() <= x && d.f64_up() >= x, "{x}: {} to {}", d.f64_down(), d.f64_up());
    }
}

#[test]
fn rounding_goes_in_the_stated_direction() {
    let fine = Dyadic::power(-400);
    for whole in [5, -5] {
        for sign in [1, -1] {
            let x = &Dyadic::int(whole) + &(&fine * &Dyadic::int(sign));
            let (down, up) = (x.clone().down(LONG), x.clone().up(LONG));
            assert!(down < x && x < up && &up - &down < Dyadic::power(-150));
            assert!(Dyadic::float(x.f64_down()) < x && Dyadic::float(x.f64_up()) > x);
        }
    }
    let deep = Dyadic::power(-100_000);
    assert!(deep.clone().down(LONG).is_zero() && deep.clone().up(LONG) == Dyadic::power(-2048));
    assert!(Dyadic::power(5000).f64_down() >= 1e280 && (-&Dyadic::power(5000)).f64_down() == f64::NEG_INFINITY);
}

#[test]
fn arithmetic_aligns_exponents() {
    let (a, b) = (Dyadic::from(0.75f32), Dyadic::from(-3e-40f32));
    let sum = &a + &b;
    assert!(sum < a && &sum - &a == b && &sum - &b == a);
    assert_eq!(&Dyadic::int(3) * &Dyadic::power(-2), a);
    let mut acc = Dyadic::int(1);
    acc.add_product(&a, &Dyadic::int(4));
    assert_eq!(acc, Dyadic::int(4));
    assert_eq!(Dyadic::int(1).over_down(&IBig::from(4)), 0.25);
    let third = Dyadic::int(1).over_down(&IBig::from(3));
    assert!(third <= 1.0 / 3.0 && third > 0.333_333);
}
