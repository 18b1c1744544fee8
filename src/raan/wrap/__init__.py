"""What the doors around any scikit-learn classifier share: cells, checks, fits with weights and in folds."""
