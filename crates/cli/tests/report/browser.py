# Opens a report in a browser and uses it as its reader does: follows every link and clicks every control, legends inside
# pictures included. The page must have an overlay of two systems, and a picture over time with two lines.
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


# Two frames: what was asked for is on the screen.
def settle(page):
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def opened(browser, **wishes):
    # No test waits for a page that glides to where it was sent.
    page = browser.new_page(reduced_motion="reduce", **wishes)
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
    settle(page)


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


# What the page shows: a number for each of some drawings, and one for everything else that a control can change. Marks are
# numbered through all drawings, which says nothing of a drawing.
def state(page, drawings):
    page.mouse.move(1, 1)
    return page.evaluate("""async (drawings) => {
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        const number = (text) => { let sum = 0; for (let at = 0; at < text.length; at += 1) sum = (sum * 31 + text.charCodeAt(at)) | 0; return sum; };
        const all = (names, value) => [...document.querySelectorAll(names)].map(value).join(' ');
        const drawn = (one) => (one.live ? number(one.live.querySelector('svg').outerHTML.replace(/zr\\d+-[\\w-]+/g, '')) : null);
        const others = [
            document.documentElement.dataset.theme, location.hash,
            all('details', (one) => one.open), all('tbody tr', (one) => one.dataset.row), all('th', (one) => one.getAttribute('aria-sort')),
            all('#controls input, #controls select', (one) => `${one.checked} ${one.value} ${one.getAttribute('aria-invalid')}`), all('button', (one) => one.getAttribute('aria-pressed')),
        ];
        return { drawings: drawings.map((index) => drawn(plumb.page.charts[index])), others: number(others.join('; ')) };
    }""", drawings)


# A click where a control stands, if nothing lies over it there.
def press(page, control):
    found = control.evaluate("""(one) => {
        one.scrollIntoView({ block: 'nearest' });
        // A link of several lines has a box for each.
        const box = one.getClientRects()[0];
        const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
        const over = document.elementFromPoint(x, y);
        return { x, y, is_free: one.contains(over) || (one.labels && [...one.labels].some((label) => label.contains(over))) };
    }""")
    check(found["is_free"], f"something lies over {control}")
    page.mouse.click(found["x"], found["y"])


# Whether a drawing differs.
def redrawn(before, after):
    return before["drawings"] != after["drawings"]


# The names in the legend of a picture, and where they stand on the screen.
def legend(page, index):
    near(page, f"picture-{index + 1}")
    return page.evaluate("""(index) => {
        const one = plumb.page.charts[index];
        const { legend } = one.option;
        if (!legend || !legend.show) return [];
        const words = [...one.live.querySelectorAll('svg text')];
        return legend.data.map((name) => {
            const found = words.find((word) => word.textContent === legend.formatter(name));
            if (!found) return { name };
            const box = found.getBoundingClientRect();
            return { name, x: box.x + box.width / 2, y: box.y + box.height / 2 };
        });
    }""", index)


def short(name):
    return name if len(name) <= 40 else name[:39] + "…"


def tip(page):
    page.wait_for_timeout(120)
    return " ".join(page.locator(".tip").all_inner_texts())


with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
    page = opened(browser, viewport={"width": 1280, "height": 700}, color_scheme="light")
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

    # Over time: all panels zoom together, and the change is marked.
    series = next(i for i, picture in enumerate(data["pictures"]) if picture["chart"] == "series")
    page.locator(f"#picture-{series + 1}").scroll_into_view_if_needed()
    page.wait_for_selector(f"#picture-{series + 1} .live svg")
    check(any(text.startswith("▼ 60") for text in texts(page, f"picture-{series + 1}")), "the change has no mark")
    extents = lambda: page.evaluate("""(index) => {
        const model = plumb.page.charts[index].chart.getModel();
        return model.getComponent('xAxis') && plumb.page.charts[index].option.xAxis.map((_, at) => model.getComponent('xAxis', at).axis.scale.getExtent());
    }""", series)
    whole = extents()
    box = page.locator(f"#picture-{series + 1} figure").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 200)
    before = page.evaluate("scrollY")
    page.mouse.wheel(0, -100)
    page.wait_for_timeout(500)
    after = page.evaluate("scrollY")
    check(extents() == whole, "the wheel zooms without Ctrl")
    check(after < before, f"the wheel alone does not scroll the page: {before} to {after}")
    page.mouse.wheel(0, 100)
    page.wait_for_timeout(500)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -400)
    page.keyboard.up("Control")
    page.wait_for_timeout(150)
    zoomed = extents()
    check(len(zoomed) >= 2 and all(one == zoomed[0] for one in zoomed), f"the panels do not zoom together: {zoomed}")
    check(zoomed[0] != whole[0], "turning the wheel with Ctrl does not zoom")

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

    # The first screen has the verdict, and each picture is in the contents.
    band = page.locator(".band")
    check(data["verdict"]["line"].split(":")[0] in band.inner_text(), "the first screen has no verdict: " + band.inner_text())
    links = page.locator("nav ol a").evaluate_all("links => links.map((link) => link.getAttribute('href'))")
    check(links == [f"#picture-{index + 1}" for index in range(len(data["pictures"]))], f"the contents are {links}")

    # Every control does something, and a second click undoes it.
    clicked = []
    click = lambda control: lambda: press(page, control)

    # Compares some drawings and the rest of the page before and after a click.
    def use(name, work, drawings=(), undo=None):
        has_effect = redrawn if drawings else lambda one, other: one["others"] != other["others"]
        before = state(page, drawings)
        work()
        after = state(page, drawings)
        check(has_effect(before, after), f"{name}: a click does nothing")
        if undo:
            undo()
            check(state(page, drawings) == before, f"{name}: a second click does not undo the first")
        clicked.append(name)

    for control in page.locator("summary").all():
        use(control.inner_text().split(":")[0], click(control), undo=click(control))
    page.locator("nav summary").click()
    for control in page.locator("a[href]").all():
        target = control.get_attribute("href")
        name = f"link {target}"
        if not control.is_visible() or control.bounding_box()["x"] < 0:
            control.focus()
            page.keyboard.press("Enter")
        else:
            press(page, control)
        top = page.locator(target).evaluate("(one) => one.getBoundingClientRect().top")
        high = page.evaluate("document.documentElement.scrollHeight - scrollY - innerHeight")
        check(page.evaluate("location.hash") == target and (abs(top) < 40 or high < 2), f"{name} leads elsewhere")
        clicked.append(name)
        page.evaluate("history.replaceState(null, '', location.pathname)")
    page.locator("nav summary").click()
    # The switches change the pictures that are in view, of which the first is an overlay.
    page.evaluate("scrollTo(0, 0)")
    near(page, "picture-1")
    for control in page.locator("#controls input[type=checkbox]").all():
        use("line " + control.get_attribute("data-line"), click(control), [0], click(control))
    # A choice that is made already has nothing to do: the others first.
    for control in sorted(page.locator("#controls input[type=radio]").all(), key=lambda one: one.is_checked()):
        use("axis " + control.get_attribute("value"), click(control), [0])
    for theme in ["dark", "light", "auto"]:
        chooser = page.get_by_label("Theme")
        use("theme " + theme, lambda: chooser.select_option(theme), [0] if theme != "auto" else ())
    field = page.get_by_label("Latency target, like 10 ms")
    use("target", lambda: (field.fill("7ms"), field.press("Tab")), [0])
    for control in page.locator("#controls button").all():
        use("system " + short(control.inner_text()), click(control), [0], click(control))
    for index, picture in enumerate(data["pictures"]):
        names = legend(page, index)
        known = picture["data"].get("systems") or [line for panel in picture["data"].get("panels", []) for line in panel["lines"]]
        known = list(dict.fromkeys(one[0] if isinstance(one, list) else one["name"] for one in known))
        wanted = len(known) if len(known) > 1 else 0
        check(len(names) == wanted, f"picture {index + 1} has {wanted} names and {len(names)} in its legend")
        for name in names:
            label = f"legend of picture {index + 1}, {picture['chart']}: {short(name['name'])}"
            if "x" not in name:
                check(False, f"{label}: is not drawn")
                continue
            switch = lambda: page.mouse.click(name["x"], name["y"])
            use(label, switch, [index], switch)
        if picture["chart"] == "series":
            box = page.locator(f"#picture-{index + 1} .live").bounding_box()
            slider = page.evaluate("(index) => { const one = plumb.page.charts[index]; const { left, bottom, height, right } = one.option.dataZoom[1]; return [left, one.height - bottom - height / 2, one.width - right]; }", index)

            # The handle at the left end, from where it is by so many pixels.
            def drag(at, by):
                page.mouse.move(at, box["y"] + slider[1])
                page.mouse.down()
                page.mouse.move(at + by, box["y"] + slider[1], steps=4)
                page.wait_for_timeout(40)
                page.mouse.up()

            left = box["x"] + slider[0] + 3
            use(f"slider of picture {index + 1}", lambda: drag(left, 300), [index], lambda: drag(left + 300, -310))
    for control in page.locator("th button").all():
        use("column " + control.inner_text(), click(control))
    for control in page.locator(".downloads button").all():
        with page.expect_download():
            control.click()
        clicked.append(control.inner_text())
    # Nothing else on the page can be clicked.
    others = page.locator("summary, a[href], button, input, select, textarea, [role=button], [onclick]").count()
    inside = sum(name.startswith(("legend of", "slider of")) for name in clicked)
    more = page.locator("select option").count() - page.locator("select").count()
    check(len(clicked) - inside - more == others, f"{others} controls, {len(clicked) - inside - more} clicked")
    check(inside > 8, f"only {inside} controls inside pictures")
    print("\n".join(clicked))

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
