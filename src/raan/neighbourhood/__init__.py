"""The paper's mathematics: neighbourhoods, weights, the objective and its estimator."""
