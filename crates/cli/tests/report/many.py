# Opens a report of very many results and says how long what its reader does takes, in milliseconds of CPU time.
import json
import sys

from playwright.sync_api import sync_playwright


with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    errors = []
    system = browser.new_browser_cdp_session()

    # Of the process that runs the page: the machine may be busy with something else.
    def timed(work):
        used = lambda: sum(one["cpuTime"] for one in system.send("SystemInfo.getProcessInfo")["processInfo"] if one["type"] == "renderer")
        began = used()
        work()
        return round((used() - began) * 1000)

    # How slow this machine is today: the same work on any page.
    page.goto("about:blank")
    loop = "() => { let sum = 0; for (let at = 1; at < 4e7; at++) sum += Math.sqrt(at) % 7; return sum; }"
    slowness = min(timed(lambda: page.evaluate(loop)) for _ in range(3))

    page.on("pageerror", lambda error: errors.append(str(error)))
    found = {"loop": slowness}

    def load():
        page.goto("file://" + sys.argv[1])
        page.wait_for_selector("html[data-ready]", state="attached")
        page.wait_for_selector("#picture-1 .live svg")

    found["load"] = timed(load)
    # Two frames: what was asked for is on the screen.
    frame = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    toggle = page.locator(".legend button").nth(1)

    def switch():
        toggle.click()
        page.evaluate(frame)

    found["toggle"] = timed(switch)
    assert toggle.get_attribute("aria-pressed") == "false"

    def sort():
        page.evaluate("document.querySelectorAll('table.numbers th button')[7].click()")
        page.evaluate(frame)

    found["sort"] = timed(sort)
    assert page.locator("th[aria-sort=ascending]").count() == 1

    def travel():
        height = page.evaluate("document.documentElement.scrollHeight")
        for part in range(1, 11):
            page.evaluate("(y) => scrollTo({ top: y, behavior: 'instant' })", height * part / 10)
            page.evaluate(frame)

    found["scroll"] = timed(travel)
    page.wait_for_timeout(300)
    found["live"] = page.locator(".live svg").count()
    found["pictures"] = page.locator("figure.chart").count()
    assert not errors, errors
    browser.close()

print(json.dumps(found))
