# Opens a report in a browser and uses it as its reader does. The page must have an overlay of two systems.
import csv
import io
import json
import re
import sys

from playwright.sync_api import sync_playwright

page_file = sys.argv[1]
errors = []


def check(holds, what):
    if not holds:
        errors.append(what)


def opened(browser, **wishes):
    page = browser.new_page(**wishes)
    page.on("console", lambda message: errors.append("console: " + message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append("error: " + str(error)))
    page.on("dialog", lambda dialog: errors.append("dialog: " + dialog.message))
    page.on("request", lambda request: errors.append("fetched: " + request.url) if not request.url.startswith(("file:", "data:", "blob:")) else None)
    page.goto("file://" + page_file)
    page.wait_for_selector("html[data-ready]" if wishes.get("java_script_enabled", True) else "figure svg", state="attached")
    return page


# A picture is drawn when it is near; a click on a switch may have led away from it.
def near(page, chart):
    page.locator(f"#{chart} figure").scroll_into_view_if_needed()
    page.wait_for_selector(f"#{chart} .live svg")
    page.wait_for_timeout(100)


def texts(page, chart):
    near(page, chart)
    return sorted(page.locator(f"#{chart} .live svg text").all_text_contents())


# Where everything stands in a picture: each element's name and box.
def places(page, chart):
    near(page, chart)
    return page.evaluate("""(id) => [...document.querySelectorAll(`#${id} .live svg path, #${id} .live svg text`)].filter((part) => part.getBBox).map((part) => {
        const [box, frame] = [part.getBoundingClientRect(), part.ownerSVGElement.getBoundingClientRect()];
        const at = [box.x - frame.x, box.y - frame.y, box.width, box.height].map((pixel) => Math.round(pixel * 2) / 2);
        return [part.tagName, ...at].join(' ');
    })""", chart)


# Words that lie over each other in what a browser draws.
def overlaps(page, chart):
    return page.evaluate("""(id) => {
        const words = [...document.querySelectorAll(`#${id} .live svg text`)].map((text) => {
            const box = text.getBoundingClientRect();
            const trim = Math.min(box.width, box.height) * 0.14;
            return { says: text.textContent, left: box.left + 1, right: box.right - 1, top: box.top + trim, bottom: box.bottom - trim };
        });
        return words.flatMap((one, at) => words.slice(at + 1)
            .filter((other) => one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom)
            .map((other) => `${one.says} / ${other.says}`));
    }""", chart)


def tip(page):
    page.wait_for_timeout(120)
    return " ".join(page.locator(".tip").all_inner_texts())


with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
    page = opened(browser, viewport={"width": 1280, "height": 900}, color_scheme="light")
    data = json.loads(page.locator("#data").text_content())
    page.wait_for_selector("#picture-1 .live svg")

    # Names are text.
    check("owned" not in page.title(), "a name ran as a script")
    check(page.locator("img").count() == 0, "a name became an element")
    check("<script>" in page.locator("h1").text_content(), "the title is not shown as it is")

    # Keys and hovering show numbers; a screen reader hears them.
    sweep = next(i for i, picture in enumerate(data["pictures"]) if picture["chart"] == "sweep")
    identity = f"picture-{sweep + 1}"
    figure = page.locator(f"#{identity} figure")
    figure.scroll_into_view_if_needed()
    page.wait_for_selector(f"#{identity} .live svg")
    figure.focus()
    page.keyboard.press("Home")
    check(re.search(r"\d+ %|\d+ [µmn]s", tip(page)), "the first key shows no number: " + tip(page))
    said = page.locator("#said").text_content()
    check(re.search(r"\d", said), "a screen reader hears no number")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Escape")
    figure.hover(position={"x": 3, "y": 3})
    centre = page.evaluate("""(index) => {
        const one = plumb.page.charts[index];
        const model = one.chart.getModel().getSeriesByIndex(0).getData();
        const names = one.option.series[0].data;
        const at = names.findIndex((item) => item.name.includes('of I/Os'));
        const box = model.getItemGraphicEl(at).getBoundingRect().clone();
        scrollTo({ top: scrollY + one.live.getBoundingClientRect().y + box.y - 300, behavior: 'instant' });
        const place = one.live.getBoundingClientRect();
        return [place.x + box.x + box.width / 2, place.y + box.y + Math.min(box.height / 2, 4), names[at].name];
    }""", sweep)
    page.mouse.move(centre[0], centre[1])
    page.mouse.move(centre[0] + 1, centre[1])
    check("of I/Os" in tip(page), "hovering a bar shows no share: " + tip(page))

    # Switches.
    before, stood = texts(page, identity), places(page, identity)
    check(any("p99" == text for text in before), "no p99 to switch off")
    page.locator("input[data-line=p99_ns]").uncheck()
    check("p99" not in texts(page, identity), "p99 is drawn though switched off")
    page.locator("input[data-line=p99_ns]").check()
    page.locator("input[value=linear]").check()
    check(texts(page, identity) != before, "the linear axis looks like the logarithmic one")
    page.locator("input[value=log]").check()
    check(texts(page, identity) == before, "back to the logarithmic axis is not as before")
    # In any order: what lies over what follows from when it was drawn.
    again = places(page, identity)
    moved = set(stood) ^ set(again)
    check(not moved and len(stood) == len(again), f"what was drawn anew stands elsewhere: {sorted(moved)[:4]}")
    check(not overlaps(page, identity), f"words lie over each other: {overlaps(page, identity)[:3]}")
    target = page.get_by_label("Latency target, like 10 ms")
    target.fill("3ms")
    target.press("Tab")
    check("3 ms" in texts(page, identity), "the target is not at 3 ms")
    target.fill("nonsense")
    target.press("Tab")
    check(target.get_attribute("aria-invalid") == "true", "a wrong target is taken")
    page.get_by_label("Theme").select_option("dark")
    check(page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 26, 34)", "dark is not dark")
    page.get_by_label("Theme").select_option("auto")

    # Over time: all panels zoom together, and the change of regime is marked.
    series = next(i for i, picture in enumerate(data["pictures"]) if picture["chart"] == "series")
    page.locator(f"#picture-{series + 1}").scroll_into_view_if_needed()
    page.wait_for_selector(f"#picture-{series + 1} .live svg")
    check(any(text.startswith("▼ 60") for text in texts(page, f"picture-{series + 1}")), "the change of regime has no mark")
    extents = lambda: page.evaluate("""(index) => {
        const model = plumb.page.charts[index].chart.getModel();
        return model.getComponent('xAxis') && plumb.page.charts[index].option.xAxis.map((_, at) => model.getComponent('xAxis', at).axis.scale.getExtent());
    }""", series)
    whole = extents()
    box = page.locator(f"#picture-{series + 1} figure").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 200)
    page.mouse.wheel(0, -400)
    page.wait_for_timeout(150)
    zoomed = extents()
    check(len(zoomed) >= 2 and all(one == zoomed[0] for one in zoomed), f"the panels do not zoom together: {zoomed}")
    check(zoomed[0] != whole[0], "turning the wheel does not zoom")

    # The overlay toggles, in all pictures that know the system.
    overlay = next(i for i, picture in enumerate(data["pictures"]) if picture["chart"] == "overlay")
    page.locator(f"#picture-{overlay + 1}").scroll_into_view_if_needed()
    page.wait_for_selector(f"#picture-{overlay + 1} .live svg")
    paths = page.locator(f"#picture-{overlay + 1} .live svg path")
    many = paths.count()
    toggle = page.locator(".legend button").nth(1)
    toggle.click()
    check(toggle.get_attribute("aria-pressed") == "false" and paths.count() < many, "the overlay does not toggle")
    toggle.click()
    check(paths.count() == many, "the overlay does not toggle back")

    # The table sorts both ways, and what is handed out equals the data.
    columns = [column["id"] for column in data["numbers"]["columns"]]
    iops = columns.index("iops")
    head = page.locator("table.numbers th").nth(iops)
    for order in ["ascending", "descending"]:
        head.locator("button").click()
        shown = [int(row) for row in page.locator("table.numbers tbody tr").evaluate_all("rows => rows.map((row) => row.dataset.row)")]
        values = [data["numbers"]["rows"][row][iops] for row in shown]
        # What is not known stands at the end, whichever way.
        known = [value for value in values if value is not None]
        check(values == sorted(known, reverse=order == "descending") + [None] * (len(values) - len(known)), "not sorted " + order)
        check(head.get_attribute("aria-sort") == order, "the heading does not say " + order)
    for name, reader in [("Download CSV", csv.reader), ("Download JSON", None)]:
        with page.expect_download() as waiting:
            page.get_by_role("button", name=name).click()
        with open(waiting.value.path(), encoding="utf-8", newline="") as file:
            text = file.read()
        if reader is None:
            check(json.loads(text) == data, "the JSON is not the data")
            continue
        rows = list(reader(io.StringIO(text)))
        check(rows[0] == columns, "the CSV's head is not the columns")
        formulas = 0
        for row, truth in zip(rows[1:], data["numbers"]["rows"], strict=True):
            for cell, value in zip(row, truth, strict=True):
                # A spreadsheet must not compute what a stranger has named.
                if isinstance(value, str) and len(value) > 1 and value[0] in "=+-@":
                    check(cell == "'" + value, f"CSV has {cell!r}, which a spreadsheet computes")
                    formulas += 1
                    continue
                same = cell == "" if value is None else cell == value if isinstance(value, str) else float(cell) == value
                check(same, f"CSV has {cell!r}, the data {value!r}")
        check(formulas > 0, "no name looks like a formula")

    # The first screen: the verdict, and each of its links leads to a finding.
    band = page.locator(".band")
    check(data["verdict"]["line"].split(":")[0] in band.inner_text(), "the first screen has no verdict: " + band.inner_text())
    links = page.locator(".band a, .mark a, nav a").evaluate_all("links => links.map((link) => link.getAttribute('href'))")
    check(len(links) > len(data["pictures"]), f"only {len(links)} links")
    for link in links:
        check(page.locator(link).count() == 1, f"{link} leads nowhere")
    page.locator("nav summary").click()
    check(page.locator("nav ol a").first.is_visible(), "the contents do not open")
    page.locator("nav ol a").last.click()
    check(page.evaluate("location.hash") == f"#picture-{len(data['pictures'])}", "a link of the contents leads elsewhere")

    # Every control of the page can be clicked, twice, without an error.
    page.locator("#switches summary").click()
    check(not page.locator("#controls").is_visible(), "the switches do not close")
    page.locator("#switches summary").click()
    clicked = 0
    for name in ["#controls input[type=checkbox]", "#controls input[type=radio]", "#controls button", "th button", ".downloads button"]:
        for control in page.locator(name).all():
            control.click()
            control.click()
            clicked += 1
    check(clicked > 12, f"only {clicked} controls")
    for theme in ["light", "dark", "auto"]:
        page.get_by_label("Theme").select_option(theme)
        wanted = "dark" if theme == "dark" else "light"
        check(page.evaluate("document.documentElement.dataset.theme") == wanted, f"the theme {theme} is not {wanted}")
    check(page.locator("#controls select, #controls input, #controls button, th button, .downloads button").count() == clicked + 2, "a control was not clicked")

    # Paper: pages are filled.
    pdf = page.pdf(prefer_css_page_size=True)
    pages = len(re.findall(rb"/Type\s*/Page\b", pdf))
    sections = page.locator("main > section").count()
    check(pages < sections * 0.7, f"{pages} pages for {sections} sections")
    page.close()

    # Narrow and dark: nothing wider than the screen but what scrolls by itself.
    page = opened(browser, viewport={"width": 400, "height": 800}, color_scheme="dark")
    check(page.evaluate("document.documentElement.scrollWidth") <= 400, "the page is wider than a narrow screen")
    check(page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 26, 34)", "a dark reader gets a light page")
    # Everything can be reached: no picture is wider than the screen, no control outside of it.
    page.locator("#switches summary").click()
    page.locator("nav summary").click()
    for index in range(len(data["pictures"])):
        near(page, f"picture-{index + 1}")
        wider = page.evaluate("(id) => { const figure = document.querySelector(`#${id} figure`); return figure.scrollWidth - figure.clientWidth; }", f"picture-{index + 1}")
        check(wider <= 0, f"picture {index + 1} is {wider} pixels wider than a narrow screen")
        over = overlaps(page, f"picture-{index + 1}")
        check(not over, f"words of picture {index + 1} lie over each other on a narrow screen: {over[:3]}")
    outside = page.evaluate("""() => [...document.querySelectorAll('summary, nav a, .band a, #controls input, #controls select, #controls button, .downloads button')]
        .filter((one) => { const box = one.getBoundingClientRect(); return box.width === 0 || box.left < 0 || box.right > innerWidth; }).map((one) => one.outerHTML.slice(0, 80))""")
    check(not outside, f"not on a narrow screen: {outside[:3]}")
    page.close()

    # Without scripts: pictures and numbers are there.
    page = opened(browser, java_script_enabled=False)
    check(page.locator("figure noscript svg, figure svg").count() == len(data["pictures"]), "pictures are missing without scripts")
    check(page.locator("table.numbers tbody tr").count() == len(data["numbers"]["rows"]), "numbers are missing without scripts")
    browser.close()

print("\n".join(errors) if errors else "all is well")
sys.exit(1 if errors else 0)
