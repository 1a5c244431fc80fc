use super::{number, place};

#[test]
fn places_follow_the_order_of_floats() {
    let mut x = f32::MIN;
    assert_eq!(number(true, place(x)), f64::from(x));
    for x0 in [-1.0, -1e-45, -0.0, 0.0, 1e-45, f32::MIN_POSITIVE, 1.0, 3e38] {
        assert!(place(x) <= place(x0) && number(true, place(x0)) == f64::from(x0));
        assert_eq!(place(f32::next_up(x0)), place(x0) + 1);
        x = x0;
    }
}
