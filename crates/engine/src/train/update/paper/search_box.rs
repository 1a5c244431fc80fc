//! Line 18 of Algorithm 1: the last layer, its gradient and alpha enter; the box that the next last layer must lie in leaves.

/// The box between w and `w - alpha sgn(g)`, with sgn(0) = 1: its lower and upper ends.
pub fn search_box(w: &[f32], g: &[f32], alpha: f32) -> (Vec<f64>, Vec<f64>) {
    let end = |(w, g): (&f32, &f32)| {
        let (w, far) = (f64::from(*w), f64::from(*w) - f64::from(alpha) * if *g < 0.0 { -1.0 } else { 1.0 });
        (w.min(far), w.max(far))
    };
    w.iter().zip(g).map(end).unzip()
}

#[cfg(test)]
mod tests {
    use super::search_box;

    /// g > 0: [w - alpha, w]; g < 0: [w, w + alpha]; g = 0 (of either sign) counts as positive.
    #[test]
    fn the_box_lies_on_the_side_of_the_negative_gradient() {
        let (lo, hi) = search_box(&[1.0, 1.0, 1.0, 1.0], &[3.0, -0.1, 0.0, -0.0], 0.25);
        assert_eq!(lo, [0.75, 1.0, 0.75, 0.75]);
        assert_eq!(hi, [1.0, 1.25, 1.0, 1.0]);
    }
}
