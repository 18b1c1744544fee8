"""What a researcher uses to reproduce and extend the paper: baselines, data sets, studies, their results."""
