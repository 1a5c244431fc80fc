"""scikit-learn's own suite of checks, with one exception: what is drawn at random.

The suite makes up its own y: one column of numbers. Label sets and orderings are made of it here, so that their estimators go
through the same checks; given such a y directly they refuse it, which `test_labels.py` tests.
"""

import numpy as np
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_array

from deepsade import DeepSaDeClassifier, DeepSaDeMultilabel, DeepSaDeRanker, DeepSaDeRegressor


def _above(y):
    y = check_array(np.reshape(np.asarray(y), (-1, 1)), dtype=np.float64, input_name="y")[:, 0]
    return (y > np.median(y)).astype(int)


class Multilabel(DeepSaDeMultilabel):
    """Labels: above the median, or not."""

    def _read_target(self, y):
        above = _above(y)
        return super()._read_target(np.column_stack([above, 1 - above]))


class Ranker(DeepSaDeRanker):
    """Places of two items: the first comes first where y is above its median."""

    def _read_target(self, y):
        above = _above(y)
        return super()._read_target(np.column_stack([2 - above, 1 + above]))


#: The check wants a row of weight 2 to be as good as the row twice: then other rows validate, and come in another order.
RANDOM = {"check_sample_weight_equivalence_on_dense_data": "rows are dealt out to training and validation, and shuffled, by their number"}


@parametrize_with_checks(
    [DeepSaDeClassifier(epochs=40), DeepSaDeRegressor(epochs=100), Multilabel(epochs=5), Ranker(epochs=5)],
    expected_failed_checks=lambda _: RANDOM,
)
def test_scikit_learn_check(estimator, check):
    check(estimator)
