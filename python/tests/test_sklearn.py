"""scikit-learn's own suite of checks."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from deepsade import DeepSaDeClassifier, DeepSaDeMultilabel, DeepSaDeRanker, DeepSaDeRegressor

# The suite has labels of its own making; what an estimator of label sets or orderings must refuse of them, and why.
LABELS = "the check's y holds values other than 0 and 1, which are no labels: refused with a ValueError"
PLACES = "the check's y is no ordering (places from 1 to n, each once): refused with a ValueError"


def expected(estimator):
    reason = {DeepSaDeMultilabel: LABELS, DeepSaDeRanker: PLACES}.get(type(estimator))
    return {name: reason for name in FITTING.get(type(estimator), ())}


FITTING = {}


@parametrize_with_checks(
    [DeepSaDeClassifier(epochs=40), DeepSaDeRegressor(epochs=100), DeepSaDeMultilabel(epochs=5), DeepSaDeRanker(epochs=5)],
    expected_failed_checks=expected,
)
def test_scikit_learn_check(estimator, check):
    check(estimator)
