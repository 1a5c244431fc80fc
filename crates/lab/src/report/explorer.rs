//! What the page's own evaluator needs enters, the explorer's markup leaves; its controls are made in the page.

use serde_json::Value;

use super::html::{Html, json_script};

/// The evaluator: needs no page, so that it can be tested without one.
pub(crate) const EVALUATE: &str = concat!(include_str!("../../assets/step.js"), include_str!("../../assets/evaluate.js"));
const EXPLORER: &str = include_str!("../../assets/explorer.js");

const MARKUP: &str = r#"<div id="explorer">
<noscript><p>The explorer computes predictions in this page, by JavaScript, which is switched off.</p></noscript>
<p>Move a slider or type a value: the model in this page computes its prediction in float32, as the exported file does, and every
rule is looked at. Values beyond the domain can be typed; they are marked.</p>
<div id="explorer-box">
<div>
<div class="tools">
<button type="button" id="middle">Middle of the domain</button>
<button type="button" id="random">Random input</button>
<label hidden>Start from <select id="rows"><option value="">…</option></select></label>
</div>
<p id="filter-line" hidden><label for="filter">Find a feature</label><input type="search" id="filter" autocomplete="off"></p>
<div id="features"></div>
<p id="more" class="soft"></p>
</div>
<div id="answer" role="region" aria-label="Prediction and rules">
<h3>Prediction</h3>
<div id="prediction"></div>
<p id="step-note" class="note" hidden>the fallback of the output step answered here</p>
<div role="status">
<p id="rule-states-note" class="note" hidden></p>
<ul id="rule-states" class="rules" aria-label="Rules"></ul>
<p id="domain-note" class="note"></p>
</div>
</div>
</div>
</div>
"#;

/// Adds the explorer and what it computes with.
pub(crate) fn explorer(html: &mut Html, payload: &Value) {
    html.section("explore", "Explorer");
    html.raw(MARKUP);
    html.raw(&json_script("model", payload));
    html.raw(&format!("<script>\n{EVALUATE}</script>\n<script>\n{EXPLORER}</script>\n"));
}
