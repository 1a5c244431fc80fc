//! The five use cases' files become the rows the paper speaks of. Ignored where the files are absent (not with `CI=true`).

use deepsade_data::{
    DataSettings, Dataset, Loaded, Overrides, Request, TableValue, TaskSettings, encode, encode_inputs, load, split,
};

#[path = "../../../tests/rust/needs.rs"]
mod needs;

use needs::Need;

needs::tests! {
    expenses: Need::Data;
    loans: Need::Data;
    music: Need::Data;
    sushi: Need::Data;
    mnist_sums: Need::Data;
}

fn use_case(data: &str, task: &str) -> (Loaded, Dataset) {
    let folder = needs::data_folder();
    let data: DataSettings = toml::from_str(data).unwrap();
    let data = data.checked().unwrap();
    let task: TaskSettings = toml::from_str(task).unwrap();
    let (overrides, rules) = (Overrides::new(), tempfile::tempdir().unwrap());
    let request =
        Request { data: &data, task: &task, overrides: &overrides, rule_file_dir: rules.path(), data_dir: Some(&folder) };
    let loaded = load(request, &mut |_| {}).unwrap_or_else(|e| panic!("{e}"));
    let set = encode(&loaded.table, &loaded.schema).unwrap_or_else(|e| panic!("{e}"));
    let parts = split(set.rows(), &data, data.seed);
    assert_eq!(parts.train.len() + parts.validation.len() + parts.test.len(), set.rows());
    assert!(encode_inputs(&loaded.table, &loaded.schema).is_ok());
    (loaded, set)
}

fn expenses() {
    let data = "file = 'expense_prediction.csv.gz'\nignore = ['']\none_hot = 'drop-first'\ntargets = ['All_Food_Expenses', \
                'Going_Out_Expenses', 'Shopping_Expenses', 'Necessary_Expenses', 'Miscellaneous_Expenses']";
    let (loaded, set) = use_case(data, "kind = 'regression'");
    assert_eq!((set.rows(), set.x.cols, set.y.cols), (41417, 13, 5));
    assert!(loaded.schema.columns().iter().any(|c| c.name == "Household Head Sex=Male"));
    let income = loaded.schema.feature("Total Household Income").unwrap();
    let over = (0..set.rows()).filter(|&r| set.y.row(r).iter().sum::<f32>() > set.x.row(r)[income]).count();
    assert!(over.abs_diff(32110) <= 5, "{over} rows spend more than they earn; float32 sums may sway a few");
}

fn loans() {
    let data =
        "file = 'loan_data_set.csv'\nignore = ['Gender']\nmissing = 'drop'\none_hot = 'drop-first'\ntargets = ['Loan_Status']";
    let (loaded, set) = use_case(data, "kind = 'binary'");
    assert_eq!((set.rows(), set.x.cols, set.y.cols), (492, 13, 2));
    assert_eq!(loaded.missing.dropped_rows, 614 - 492);
    assert_eq!(loaded.schema.task.classes().unwrap(), ["N", "Y"]);
}

fn music() {
    let data = "file = 'uc3_equiv_music_data.csv'\nignore = ['']\ntargets = ['Music Style']";
    let (loaded, set) = use_case(data, "kind = 'multiclass'");
    assert_eq!((set.rows(), set.x.cols, set.y.cols), (793, 13, 5));
    assert_eq!(loaded.schema.features.len(), 13);
    let beatles = loaded.schema.feature("the_beatles").unwrap();
    assert_eq!((0..set.rows()).filter(|&r| set.x.row(r)[beatles] == 1.0).count(), 159);
}

fn sushi() {
    let (loaded, set) = use_case("recipe = 'sushi'", "kind = 'ranking'");
    assert_eq!((set.rows(), set.x.cols, set.y.cols), (4926, 36, 16));
    assert_eq!(loaded.schema.features[0].name, "ebi@1");
    for r in 0..set.rows() {
        assert_eq!(set.x.row(r).iter().sum::<f32>(), 6.0);
        assert!(set.y.row(r).chunks(4).all(|places| places.iter().sum::<f32>() == 1.0));
    }
    // The first order of the file is 7,4,5,1,10,2,8,3,9,6.
    assert_eq!(loaded.table.column("kappa-maki").unwrap().value(0), TableValue::Number(2.0));
}

fn mnist_sums() {
    let (loaded, set) = use_case("recipe = 'mnist-sum'\nrows = 200\nseed = 3", "kind = 'multilabel'");
    assert_eq!((set.rows(), set.x.cols, set.y.cols), (200, 3136, 10));
    assert!(loaded.schema.features.iter().all(|f| f.domain.range() == Some((0.0, 1.0))));
    for r in 0..set.rows() {
        let digits: Vec<usize> = (0..10).filter(|d| set.y.row(r)[*d] == 1.0).collect();
        assert!(digits.len() == 4 && digits.iter().sum::<usize>() > 10, "{digits:?}");
        // Every image shows something.
        assert!(set.x.row(r).chunks(784).all(|image| image.iter().any(|v| *v > 0.5)));
    }
}
