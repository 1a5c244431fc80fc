use super::*;

fn epochs(n: usize) -> Vec<Epoch> {
    (1..=n)
        .map(|e| Epoch {
            epoch: e,
            train: 1.0 / e as f64,
            validation: Some(1.2 / e as f64),
            margin: Some(1e-6 * e as f64),
            moved: Some(0.5),
        })
        .collect()
}

fn names(n: usize) -> Vec<String> {
    (0..n).map(|k| format!("</text><script>{k}&\"'")).collect()
}

/// One of each figure, with hostile names.
fn all() -> Vec<(&'static str, Scene)> {
    let widths = |k: usize| LayerWidths {
        name: format!("hidden {k}"),
        widths: (1..20).map(|i| f64::from(i) * 3f64.powi(k as i32)).collect(),
    };
    let points =
        |s: f64| (0..60).map(|i| [(f64::from(i) * s).cos() * f64::from(i), (f64::from(i) * s).sin() * f64::from(i)]).collect();
    let cell = |k: usize| {
        let (c, r) = (k % 40, k / 40);
        GridPoint { prediction: usize::from(c + r > 40), applies: c < 15, broken: c < 15 && c + r > 40 }
    };
    let adversity = AdversitySlice {
        x: ("ApplicantIncome".into(), 0.0, 10_000.0),
        y: ("LoanAmount".into(), 0.0, 400.0),
        columns: 40,
        cells: (0..1600).map(cell).collect(),
        predictions: vec!["N".into(), "Y".into()],
        instance: [4800.0, 250.0],
        radius: [1000.0, 40.0],
        counterexample: Some([3600.0, 285.0]),
    };
    let series = |name: &str, up: f64| LambdaSeries {
        name: name.into(),
        points: (0..6)
            .map(|k| {
                let median = up + 0.1 * f64::from(k * k);
                LambdaPoint { x: 10f64.powi(k - 3), low: median - 0.05, median, high: median + 0.05 }
            })
            .collect(),
    };
    vec![
        (
            "calibration",
            calibration_curve(&names(1)[0], &[0.1, 0.4, 0.9].map(|p| Bin { predicted: p, observed: p * p, rows: 7 })),
        ),
        ("curves", training_curves(&epochs(40), Some(38))),
        ("bounds", bounds_per_layer(&[widths(1), widths(2), widths(3)])),
        ("lambda", loss_against_lambda("loss", &[series("SL", 0.4), series("SBR", 0.6)])),
        (
            "latent",
            latent_space(
                &[Panel { title: "FFN".into(), points: points(0.4) }, Panel { title: "DeepSaDe".into(), points: points(1.1) }],
                &names(3),
                &(0..60).map(|i| i % 3).collect::<Vec<_>>(),
            ),
        ),
        ("adversity", adversity.figure()),
        (
            "compare",
            compare(
                "accuracy",
                &[
                    Sample { name: "deepsade".into(), values: vec![80.0, 81.5, 79.0] },
                    Sample { name: "ffn".into(), values: vec![74.0, 75.5, 76.0] },
                ],
            ),
        ),
        ("network", network_shape(&[("input".into(), 13), ("hidden 1".into(), 50), ("output".into(), 2)], 2, true)),
    ]
}

#[test]
fn every_figure_becomes_svg_and_png() {
    for (name, scene) in all() {
        let svg = scene.svg(Theme::File);
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>"), "{name}");
        assert!(!svg.contains("<script") && !svg.contains("NaN") && !svg.contains("inf"), "{name}");
        let png = scene.png(1.0);
        assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n", "{name}");
        let size = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
        assert_eq!((f64::from(size(16)), f64::from(size(20))), (scene.width.ceil(), scene.height.ceil()), "{name}");
        if let Some(folder) = std::env::var_os("DEEPSADE_FIGURES") {
            let path = std::path::Path::new(&folder);
            std::fs::write(path.join(format!("{name}.svg")), &svg).unwrap();
            std::fs::write(path.join(format!("{name}.png")), &png).unwrap();
        }
    }
}

#[test]
fn marks_stay_inside_the_picture() {
    for (name, scene) in all() {
        let mut inside = |[x, y]: [f64; 2]| {
            assert!((-1.0..=scene.width + 1.0).contains(&x) && (-1.0..=scene.height + 1.0).contains(&y), "{name}: ({x}, {y})");
        };
        for mark in &scene.marks {
            match mark {
                Mark::Line { points, .. } | Mark::Area { points, .. } => points.iter().copied().for_each(&mut inside),
                Mark::Tile { place: [x, y, w, h], .. } => [[*x, *y], [x + w, y + h]].into_iter().for_each(&mut inside),
                Mark::Dot { at, .. } => inside(*at),
                Mark::Text { at: [x, y], text, size, anchor, upwards } => {
                    let width = font::width(text, *size);
                    let start = anchor.start(width);
                    if *upwards {
                        inside([*x, y - start]);
                        inside([*x, y - start - width]);
                    } else {
                        inside([x + start, *y]);
                        inside([x + start + width, *y]);
                    }
                }
            }
        }
    }
}

/// The letters of a PNG are painted: dark pixels stand where the title of the axis does.
#[test]
fn letters_are_drawn_without_a_system_font() {
    let mut scene = Scene::new("", 200.0, 40.0);
    scene.text([100.0, 20.0], "loss λ ≤ 10⁻³ é", 17.0, TextAnchor::Middle);
    let blank = Scene::new("", 200.0, 40.0).png(1.0);
    assert_ne!(scene.png(1.0), blank);
    let mut other = Scene::new("", 200.0, 40.0);
    other.text([100.0, 20.0], "loss λ ≤ 10⁻² é", 17.0, TextAnchor::Middle);
    assert_ne!(scene.png(1.0), other.png(1.0), "two texts look different");
}

#[test]
fn empty_and_broken_data_are_no_trouble() {
    let nan = Epoch { epoch: 1, train: f64::NAN, validation: Some(f64::INFINITY), margin: Some(f64::MAX), moved: None };
    let scenes = [
        training_curves(&[], None),
        training_curves(&[nan], Some(1)),
        bounds_per_layer(&[]),
        bounds_per_layer(&[LayerWidths { name: String::new(), widths: vec![0.0, 0.0] }]),
        loss_against_lambda("loss", &[]),
        latent_space(&[Panel { title: String::new(), points: vec![] }], &[], &[]),
        compare("mse", &[Sample { name: "a".into(), values: vec![f64::NAN] }]),
        network_shape(&[], 0, false),
    ];
    for scene in scenes {
        assert!(!scene.svg(Theme::Page).contains("NaN"), "{}", scene.title);
        assert!(!scene.png(0.5).is_empty());
    }
}

#[test]
fn ticks_are_round_numbers() {
    let ticks = |lo: f64, hi: f64| -> Vec<String> {
        let axis = axis::Axis { label: String::new(), lo, hi, log: false, names: vec![] };
        axis.ticks(5).into_iter().map(|t| t.1).collect()
    };
    assert_eq!(ticks(0.0, 1.0), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
    assert_eq!(ticks(-3.0, 21.0), ["0", "5", "10", "15", "20"]);
    let log = axis::Axis::logarithmic("", [1e-3, 10.0]);
    assert_eq!(log.ticks(9).into_iter().map(|t| t.1).collect::<Vec<_>>(), ["10⁻³", "10⁻²", "10⁻¹", "10⁰", "10¹"]);
}
