# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
"""drive.py URL SCRIPT [WIDTH HEIGHT [dark] [PICTURE.png]] - look at a page in a real browser.

SCRIPT is the body of an async function that is run in the page; what it returns is printed, as JSON;
PICTURE is made then. Fails with a line when it throws, or when anything is told in the console. The browser is driven over
pipes, as its debugger's protocol has it: there is no port that others could use.
"""
import base64
import json
import os
import subprocess
import sys
import tempfile


class Browser:
    def __init__(self, profile):
        # It reads what it is told from descriptor 3 and answers to 4.
        theirs_in, self.to = os.pipe()
        self.answers, theirs_out = os.pipe()
        self.process = subprocess.Popen(
            ["sh", "-c", 'exec chromium "$@" 3<&%d 4>&%d' % (theirs_in, theirs_out), "chromium",
             "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
             "--remote-debugging-pipe", "--user-data-dir=" + profile, "about:blank"],
            pass_fds=(theirs_in, theirs_out), stderr=subprocess.DEVNULL, env={**os.environ, "HOME": profile})
        os.close(theirs_in)
        os.close(theirs_out)
        self.text, self.n, self.complaints, self.events = b"", 0, [], set()

    def receive(self):
        while b"\0" not in self.text:
            some = os.read(self.answers, 65536)
            if not some:
                sys.exit("the browser is gone")
            self.text += some
        one, self.text = self.text.split(b"\0", 1)
        one = json.loads(one)
        method, params = one.get("method"), one.get("params", {})
        self.events.add(method)
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.complaints.append(str(params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.complaints.append(params["entry"]["text"] + " " + params["entry"].get("url", ""))
        return one

    def send(self, method, session=None, **params):
        self.n += 1
        message = {"id": self.n, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            one = self.receive()
            if one.get("id") == self.n:
                if "error" in one:
                    sys.exit(f"{method}: {one['error']['message']}")
                return one["result"]


def look(browser, url, script, width, height, dark, picture):
    target = browser.send("Target.createTarget", url="about:blank")["targetId"]
    page = browser.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    for domain in ("Page", "Runtime", "Log"):
        browser.send(domain + ".enable", page)
    browser.send("Emulation.setDeviceMetricsOverride", page, width=width, height=height,
                 deviceScaleFactor=1, mobile=False)
    browser.send("Emulation.setEmulatedMedia", page,
                 features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
    browser.events.clear()
    browser.send("Page.navigate", page, url=url)
    while "Page.loadEventFired" not in browser.events:
        browser.receive()
    answer = browser.send("Runtime.evaluate", page, expression="(async () => {" + script + "\n})()",
                          awaitPromise=True, returnByValue=True)
    if "exceptionDetails" in answer:
        details = answer["exceptionDetails"]
        sys.exit(details.get("exception", {}).get("description") or details["text"])
    if browser.complaints:
        sys.exit("in the console: " + "; ".join(browser.complaints))
    if picture:
        with open(picture, "wb") as f:
            f.write(base64.b64decode(browser.send("Page.captureScreenshot", page, format="png")["data"]))
    print(json.dumps(answer["result"].get("value")))


def main():
    url, script = sys.argv[1:3]
    width, height = (int(n) for n in (sys.argv[3:5] or (1300, 850)))
    with open(script) as f:
        text = f.read()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(profile)
        try:
            look(browser, url, text, width, height, "dark" in sys.argv[5:],
                 next((a for a in sys.argv[5:] if a.endswith(".png")), None))
        finally:
            browser.process.kill()
            browser.process.wait()


main()
