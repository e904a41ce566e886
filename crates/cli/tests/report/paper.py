# Prints a report and says how many pages of paper it takes.
import re
import sys

from playwright.sync_api import sync_playwright

with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto("file://" + sys.argv[1])
    page.wait_for_selector("html[data-ready]", state="attached")
    pdf = page.pdf(prefer_css_page_size=True, **({"path": sys.argv[2]} if len(sys.argv) > 2 else {}))
    print(len(re.findall(rb"/Type\s*/Page\b", pdf)))
    browser.close()
