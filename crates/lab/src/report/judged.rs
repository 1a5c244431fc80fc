//! The scores of a run enter; their tables and curves leave: with intervals, by segments, and by how much each feature matters.

use deepsade_spec::Task;
use serde_json::Value;

use super::html::{Html, escape, number};
use crate::figure::{Bin, Response, calibration_curve, responses};

/// Features whose importance is shown at once, and whose curves are.
const MOST_BARS: usize = 15;
const MOST_CURVES: usize = 4;

/// Scores in the order in which they are told, and what they are called.
const SCORES: [(&str, &str); 27] = [
    ("accuracy", "accuracy"),
    ("balanced_accuracy", "balanced accuracy"),
    ("auc", "AUC"),
    ("auc_macro", "AUC, mean of each class against the rest"),
    ("gini", "Gini"),
    ("ks", "KS"),
    ("log_loss", "log-loss"),
    ("brier", "Brier score"),
    ("calibration_error", "calibration error"),
    ("precision", "precision"),
    ("recall", "recall"),
    ("specificity", "specificity"),
    ("true_positive_rate", "true positive rate"),
    ("false_positive_rate", "false positive rate"),
    ("f1", "F1"),
    ("share_predicted", "share predicted"),
    ("share_observed", "share observed"),
    ("mean_probability", "mean probability"),
    ("exact_match", "exact matches"),
    ("f1_micro", "F1, micro"),
    ("f1_macro", "F1, macro"),
    ("auprc_micro", "AUPRC, micro"),
    ("auprc_macro", "AUPRC, macro"),
    ("mse", "mean squared error"),
    ("rmse", "root mean squared error"),
    ("mae", "mean absolute error"),
    ("r2", "R²"),
];

/// Said twice otherwise.
const SAME: [&str; 1] = ["true_positive_rate"];

fn shown(v: &Value) -> String {
    v.as_u64().map(|n| n.to_string()).or_else(|| v.as_f64().map(number)).unwrap_or_else(|| "–".into())
}

fn list(v: &Value) -> &[Value] {
    v.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn name(v: &Value) -> String {
    v.as_str().unwrap_or_default().to_owned()
}

/// All that is known of the scores.
pub(crate) fn judged(html: &mut Html, summary: &Value, task: &Task) {
    let test = &summary["scores"]["test"];
    if !test.is_object() {
        return;
    }
    table(html, &summary["scores"]);
    confusion(html, test);
    calibration(html, test);
    errors(html, test);
    segments(html, test, task);
    effects(html, &summary["effects"]);
}

fn table(html: &mut Html, scores: &Value) {
    html.raw("<h3>On every row with a prediction</h3>\n");
    let parts = ["train", "validation", "test"];
    let known: Vec<&(&str, &str)> =
        SCORES.iter().filter(|(key, _)| !SAME.contains(key) && parts.iter().any(|p| scores[p][key].is_number())).collect();
    let row = |(key, name): &(&str, &str)| {
        let interval = match list(&scores["test"]["intervals"][key]) {
            [lo, hi] => format!("{} to {}", shown(lo), shown(hi)),
            _ => "–".into(),
        };
        let mut row = vec![(*name).to_string()];
        row.extend(parts.iter().map(|p| shown(&scores[p][key])));
        row.push(interval);
        row
    };
    let mut rows = vec![vec!["rows".into()]];
    rows[0].extend(parts.iter().map(|p| shown(&scores[p]["rows"])));
    rows[0].push(String::new());
    rows.extend(known.into_iter().map(row));
    html.table(&["score", "train", "validation", "test", "95 % of draws of the test rows"], &rows);
    html.paragraph(
        "Shares are from 0 to 1, and every row counts, also those whose own label breaks a rule. Intervals are by a seeded bootstrap of the test \
         rows: what another sample of this size might give, the model as it is.",
    );
}

fn confusion(html: &mut Html, test: &Value) {
    let of = &test["confusion"];
    if of.is_object() {
        let (no, yes) = (name(&test["negative"]), name(&test["positive"]));
        let cutoff = test["cutoff"].as_f64().unwrap_or(0.5);
        html.raw(&format!(
            "<h3>Test rows by truth and prediction, {} predicted above a probability of {cutoff}</h3>\n",
            escape(&yes)
        ));
        let row = |truth: &str, a: &str, b: &str| vec![format!("truly {truth}"), shown(&of[a]), shown(&of[b])];
        let heads = [String::new(), format!("predicted {no}"), format!("predicted {yes}")];
        let rows = [row(&no, "true_negative", "false_positive"), row(&yes, "false_negative", "true_positive")];
        html.table(&heads.iter().map(String::as_str).collect::<Vec<_>>(), &rows);
    } else if !list(of).is_empty() {
        html.raw("<h3>Test rows by truth and prediction</h3>\n");
        let names: Vec<String> = list(&test["classes"]).iter().map(name).collect();
        let heads: Vec<String> = std::iter::once(String::new()).chain(names.iter().map(|n| format!("predicted {n}"))).collect();
        let row = |(truth, counts): (&String, &Value)| {
            std::iter::once(format!("truly {truth}")).chain(list(counts).iter().map(shown)).collect::<Vec<_>>()
        };
        let rows: Vec<Vec<String>> = names.iter().zip(list(of)).map(row).collect();
        html.table(&heads.iter().map(String::as_str).collect::<Vec<_>>(), &rows);
    }
}

fn calibration(html: &mut Html, test: &Value) {
    let bin = |b: &Value| {
        Some(Bin {
            predicted: b["mean_probability"].as_f64()?,
            observed: b["share_observed"].as_f64()?,
            rows: b["rows"].as_u64()? as usize,
        })
    };
    let bins: Vec<Bin> = list(&test["calibration"]).iter().filter_map(bin).collect();
    if bins.is_empty() {
        return;
    }
    html.raw("<h3>Calibration</h3>\n");
    html.figure(
        &calibration_curve(&name(&test["positive"]), &bins),
        "How often the class came true, by its probability, on the test rows. On the dashed line probabilities are what they say; dots grow with \
         their rows.",
    );
    let row = |b: &Bin| vec![b.rows.to_string(), number(b.predicted), number(b.observed)];
    html.folded("The same as numbers", |html| {
        html.table(&["rows", "mean probability", "share observed"], &bins.iter().map(row).collect::<Vec<_>>());
    });
}

fn errors(html: &mut Html, test: &Value) {
    let Some(targets) = test["targets"].as_object() else { return };
    html.raw("<h3>Errors of the test rows, prediction minus truth</h3>\n");
    let row = |name: &str, of: &Value, all: &Value| {
        let mut row = vec![name.to_owned(), shown(&of["mae"]), shown(&of["r2"])];
        row.extend(list(all).iter().map(|q| shown(&q["error"])));
        row
    };
    let rows: Vec<Vec<String>> = targets.iter().map(|(name, of)| row(name, of, &of["error_quantiles"])).collect();
    let share = |q: &Value| format!("{:.0} % below", 100.0 * q["share"].as_f64().unwrap_or_default());
    let heads: Vec<String> = ["target", "mean absolute", "R²"]
        .map(String::from)
        .into_iter()
        .chain(list(&test["error_quantiles"]).iter().map(share))
        .collect();
    html.table(&heads.iter().map(String::as_str).collect::<Vec<_>>(), &rows);
}

fn segments(html: &mut Html, test: &Value, task: &Task) {
    let segments = list(&test["segments"]);
    if segments.is_empty() {
        return;
    }
    html.section("segments", "Segments");
    html.paragraph("The test rows in parts: a model that is right on the whole may be wrong about some of them.");
    let keys: &[&str] = match task {
        Task::Binary { .. } => &[
            "share_predicted",
            "share_observed",
            "mean_probability",
            "accuracy",
            "true_positive_rate",
            "false_positive_rate",
            "auc",
        ],
        Task::Multiclass { .. } => &["accuracy", "balanced_accuracy", "log_loss"],
        Task::Regression { .. } => &["mse", "mae", "r2"],
        Task::Multilabel { .. } | Task::Ranking { .. } => &["exact_match", "f1_micro"],
    };
    let several = matches!(task, Task::Multiclass { .. }).then(|| task.classes().unwrap_or_default()).unwrap_or_default();
    for segment in segments {
        let column = name(&segment["column"]);
        html.raw(&format!("<h3>By {}</h3>\n", escape(&column)));
        let called = |key: &&str| SCORES.iter().find(|(k, _)| k == key).map_or(*key, |(_, name)| *name).to_owned();
        let mut heads = vec![column, "rows".into()];
        heads.extend(keys.iter().map(called));
        heads.extend(several.iter().map(|class| format!("predicted {class}")));
        let row = |part: &Value| {
            let mut row = vec![name(&part["value"]), shown(&part["rows"])];
            row.extend(keys.iter().map(|key| shown(&part[*key])));
            row.extend(several.iter().map(|class| shown(&part["predicted"][class])));
            row
        };
        let rows: Vec<Vec<String>> = list(&segment["parts"]).iter().map(row).collect();
        html.table(&heads.iter().map(String::as_str).collect::<Vec<_>>(), &rows);
    }
}

fn effects(html: &mut Html, effects: &Value) {
    let found = list(&effects["importance"]);
    if found.is_empty() {
        return;
    }
    html.section("importance", "What matters");
    let key = name(&effects["score"]);
    let score = SCORES.iter().find(|(k, _)| *k == key).map_or(key.as_str(), |(_, name)| *name);
    html.paragraph(&format!(
        "Permutation importance: how much worse the score ({}) gets when the values of one feature are dealt out anew among {} test rows, mean of {} \
         times. Features that say the same share their importance.",
        score,
        shown(&effects["rows"]),
        shown(&effects["times"])
    ));
    bars(html, &found[..found.len().min(MOST_BARS)], found);
    if found.len() > MOST_BARS {
        html.folded(&format!("{} more features", found.len() - MOST_BARS), |html| bars(html, &found[MOST_BARS..], found));
    }
    let curves = list(&effects["partial_dependence"]);
    let (first, more) = curves.split_at(curves.len().min(MOST_CURVES));
    html.raw("<h3>Partial dependence</h3>\n");
    html.paragraph("The mean prediction of test rows when all of them have one value of a feature, the others as they are.");
    drawn(html, first);
    if !more.is_empty() {
        html.folded(&format!("{} more features", more.len()), |html| drawn(html, more));
    }
}

fn bars(html: &mut Html, shown_now: &[Value], all: &[Value]) {
    let value = |v: &Value| v["importance"].as_f64().unwrap_or_default();
    let most = all.iter().map(value).fold(1e-12, f64::max);
    html.raw("<div class=\"scroll\"><table class=\"bars\"><thead><tr><th scope=\"col\">feature</th><th scope=\"col\" class=\"n\">importance</th><th></th></tr></thead><tbody>\n");
    for one in shown_now {
        let width = (100.0 * value(one) / most).clamp(0.0, 100.0);
        html.raw(&format!(
            "<tr><td>{}</td><td class=\"n\">{} ± {}</td><td><div class=\"bar\"><i style=\"width:{width:.1}%\"></i></div></td></tr>\n",
            escape(&name(&one["feature"])),
            number(value(one)),
            shown(&one["deviation"])
        ));
    }
    html.raw("</tbody></table></div>\n");
}

fn drawn(html: &mut Html, curves: &[Value]) {
    html.raw("<div class=\"figures\">\n");
    for one in curves {
        let feature = name(&one["feature"]);
        let texts: Vec<String> = list(&one["values"]).iter().map(|v| v.as_str().map_or_else(|| shown(v), String::from)).collect();
        let levels = one["levels"] == true;
        let place = |k: usize| if levels { k as f64 } else { one["values"][k].as_f64().unwrap_or_default() };
        let curve = |c: &Value| {
            let points = list(&c["mean"]).iter().enumerate().filter_map(|(k, v)| Some((place(k), v.as_f64()?)));
            Response { name: name(&c["name"]), parts: vec![points.collect()], own: None }
        };
        let rows: Vec<Response> = list(&one["curves"]).iter().map(curve).collect();
        let label = if rows.len() == 1 { rows[0].name.clone() } else { "mean".into() };
        html.figure(&responses(&feature, &label, if levels { &texts } else { &[] }, false, &rows), &format!("By {feature}."));
    }
    html.raw("</div>\n");
}
