"""What tests do in a browser: open a page, press keys, wait; and a name that tries to run."""

import json
import time
from pathlib import Path

HOSTILE = (
    "<script>window.hacked=1</script>\"'><img src=x onerror=window.hacked=1>"
    '<a href="javascript:window.hacked=1">here</a>%{x}{{7*7}}</title></style>'
)


def show(browser, path: Path, width=1600, height=1000, scheme="light"):
    """Open the page in a window of this size."""
    window = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", window)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    for log in ("browser", "performance"):
        browser.get_log(log)  # what earlier pages left
    browser.get(path.as_uri())


def requests(browser) -> set[str]:
    """All that the browser asked anyone for."""
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
    return {each["request"]["url"] for each in sent}


def becomes(browser, expression, value, seconds=20):
    """Wait until the expression has the value: a browser on a busy machine takes its time."""
    until = time.monotonic() + seconds
    while (found := browser.execute_script(f"return {expression}")) != value and time.monotonic() < until:
        time.sleep(0.05)
    assert found == value, expression


KEYS = {"Tab": 9, "Enter": 13, " ": 32, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowRight": 39}
TEXTS = {"Enter": "\r", " ": " "}


def press(browser, key: str) -> None:
    for kind in ("keyDown", "keyUp"):
        code = KEYS[key]
        event = {"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code}
        browser.execute_cdp_cmd("Input.dispatchKeyEvent", event | ({"text": TEXTS[key]} if key in TEXTS else {}))
