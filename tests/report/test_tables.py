import re
import shutil
import subprocess

import pytest

from raan.report.tables import Cell, escape_latex, escape_markdown, latex, markdown, table

SCRIPT = "<script>alert(1)</script>"
SPECIALS = r"$&%_#{}~^\|`*"

HOSTILE = table(
    f"{SCRIPT} and {SPECIALS}",
    ("method", SPECIALS, "words"),
    [[SCRIPT, Cell("43.2 ± 1.1", "41.0 to 45.0", best=True), "a\nb | c"], ["x", "−1.0", "–"]],
    words=(2,),
)


def test_markdown_keeps_html_and_pipes_from_meaning_anything():
    text = markdown(HOSTILE)
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    lines = text.split("\n\n", 1)[1].strip().splitlines()
    unescaped = [len(re.findall(r"(?<!\\)\|", line)) for line in lines]
    assert unescaped == [4, 4, 4, 4]
    assert lines[1] == "| --- | ---: | --- |"
    assert r"**43.2 ± 1.1** (41.0 to 45.0)" in lines[2]
    assert r"a b \| c" in lines[2]


@pytest.mark.parametrize("letter", SPECIALS.replace("|", ""))
def test_markdown_escapes_every_letter_that_means_something(letter):
    assert escape_markdown(letter) in (f"\\{letter}", "&amp;", letter if letter == "%" else "")


def test_latex_is_booktabs_and_escaped():
    text = latex(HOSTILE)
    for part in (r"\begin{tabular}{lrl}", r"\toprule", r"\midrule", r"\bottomrule", r"\textbf{43.2 $\pm$ 1.1}"):
        assert part in text
    assert r"\$\&\%\_\#\{\}\textasciitilde{}\textasciicircum{}\textbackslash{}\textbar{}" in text
    assert r"$-$1.0 & --" in text
    assert escape_latex(SCRIPT) == r"\textless{}script\textgreater{}alert(1)\textless{}/script\textgreater{}"


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="no pdflatex here to set the table with")
def test_latex_sets_what_it_was_given(tmp_path):
    source = r"\documentclass{article}\usepackage{booktabs}\usepackage[T1]{fontenc}\begin{document}"
    (tmp_path / "page.tex").write_text(source + latex(HOSTILE) + r"\end{document}")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout
