import subprocess
import sys

MODULES = ("raan.tables.load", "raan.tables.read", "raan.data.split")


def test_tables_are_read_and_prepared_where_there_is_no_torch(tmp_path):
    (tmp_path / "people.csv").write_text(
        "x,sex,y\n" + "".join(f"{row * row % 89},{'fm'[row % 2]},{row % 3 % 2}\n" for row in range(90))
    )
    code = (
        "import sys, warnings; sys.modules['torch'] = None; warnings.simplefilter('ignore');"
        f"import {', '.join(MODULES)}; from raan.data import from_frame;"
        "loaded = from_frame(sys.argv[1], 'y', 'sex'); print(loaded.describe())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "people.csv"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "people.csv: 90 rows × 1 features" in done.stdout
