#!/usr/bin/env python3
"""Golden values of crates/analysis/src/statistics, computed in 40 digits with mpmath, independently of the Rust code.

Needs mpmath (Debian: python3-mpmath). Run in this directory: python3 statistics.py > statistics.txt
A line is RULE, the inputs (lists separated by /), and after | the values in 12 digits.
"""
import random

from mpmath import betainc, exp, findroot, inf, isinf, log, mp, mpf, sqrt

mp.dps = 40
ALPHA = mpf("0.05")


def t_cdf(t, nu):
    """Of Student's t: by the incomplete beta function."""
    tail = betainc(nu / 2, mpf(1) / 2, 0, nu / (nu + t * t), regularized=True) / 2
    return 1 - tail if t > 0 else tail


def t_quantile(p, nu):
    """By bisection of t_cdf, then Newton's method on it."""
    low, high = mpf(0), mpf(10)
    while t_cdf(high, nu) < p:
        high *= 10
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if t_cdf(middle, nu) < p else (low, middle)
    return findroot(lambda t: t_cdf(t, nu) - p, (low, high), solver="secant", tol=mpf(10) ** -30)


def mean(x):
    return sum(x) / len(x)


def variance(x):
    m = mean(x)
    return sum((v - m) ** 2 for v in x) / (len(x) - 1)


def m1(x):
    """Mean, half width and effective number of a series."""
    best = None
    for k in (1, 2, 4, 8):
        if len(x) // k < 15:
            break
        drop = len(x) % k
        y = [mean(x[i:i + k]) for i in range(drop, len(x), k)]
        m = mpf(len(y))
        d = [v - mean(y) for v in y]
        v = sum(e * e for e in d)
        if v == 0:
            half, e = mpf(0), m
        else:
            r = sum(a * b for a, b in zip(d, d[1:])) / v
            r = min(max(r + (1 + 3 * r) / m, mpf(0)), mpf("0.99"))
            e = max(m * (1 - r) / (1 + r), mpf(2))
            s2 = v / max(m - (1 + r) / (1 - r), mpf(1))
            half = t_quantile(mpf("0.975"), max(e - 1, mpf(1))) * sqrt(s2 / e)
        if best is None or half > best[0]:
            best = (half, e)
    return [mean(x), best[0], best[1]]


def m2(q, ios, slower):
    """Shares between which a percentile lies; -1 for an open end."""
    n, k = sum(ios), sum(slower)
    median = sorted(ios)[len(ios) // 2]
    if all(0 < i <= 2 * median and median <= 2 * i for i in ios):
        p = [b / a for a, b in zip(ios, slower)]
    else:
        p = [k / n + (b - k / n * a) / (n / len(ios)) for a, b in zip(ios, slower)]
    half = m1(p)[1]
    return [max(q - half, mpf(0)), q + half if q + half < 1 else mpf(-1)]


def welch(a, b, share=mpf(1)):
    """Estimate, half width at 5 % and at 1 %, probability, smallest visible change."""
    a, b = [log(v) for v in a], [log(v) for v in b]
    va, vb = variance(a) / len(a), variance(b) / len(b)
    se = sqrt(va + vb)
    nu = (va + vb) ** 2 / (va ** 2 / (len(a) - 1) + vb ** 2 / (len(b) - 1))
    return of_t(mean(b) - mean(a), se, nu, share)


def one_against(a, b):
    """The same for one value against eight or more."""
    b = log(b[0])
    a = [log(v) for v in a]
    return of_t(b - mean(a), sqrt(variance(a) * (1 + mpf(1) / len(a))), mpf(len(a) - 1))


def paired(a, b, share=mpf(1)):
    d = [log(y) - log(x) for x, y in zip(a, b)]
    return of_t(mean(d), sqrt(variance(d) / len(d)), mpf(len(d) - 1), share)


def in_turns(a, b, share=mpf(1)):
    """Sets with the whole error, pairs with a fifth of it: what says more."""
    both = zip(welch(a, b, share), paired(a, b, share / 5))
    return [min(sets, pairs) for sets, pairs in both]


def in_rounds(planned, a, b):
    """The same for rounds that are looked at after each, of `planned` in all."""
    n = mpf(len(a))
    if n < 4 and n < planned:
        return [welch(a, b)[0], inf, inf, mpf(1), inf]
    share = mpf("0.95") - mpf("0.15") * (1 - 4 / max(n, mpf(4))) if n == planned else mpf("0.15") * (n / planned) ** 2
    return in_turns(a, b, share)


def of_t(estimate, se, nu, share=mpf(1)):
    half = [t_quantile(1 - alpha * share / 2, nu) * se for alpha in (ALPHA, ALPHA / 5)]
    p = min(2 * t_cdf(-abs(estimate / se), nu) / share, mpf(1))
    return [estimate, *half, p, half[0] + mpf("0.84") * se]


def gate(tolerance, metrics, a, b):
    """1 worse, 0 ok, 2 cannot tell of the first of equal numbers; then the runs a side that settle one alone, 0 for none
    up to 200: whether the loss is beyond the tolerance, and if that is known, whether there is a change."""
    a, b = [log(v) for v in a], [log(v) for v in b]
    va, vb = variance(a), variance(b)

    def t_of(n_a, n_b, alpha):
        x, y = va / n_a, vb / n_b
        nu = (x + y) ** 2 / (x ** 2 / (n_a - 1) + y ** 2 / (n_b - 1))
        return t_quantile(1 - alpha / 2, nu) * sqrt(x + y), sqrt(x + y)

    bound = -log(1 + tolerance)
    estimate = mean(b) - mean(a)
    wide, narrow = t_of(len(a), len(b), ALPHA / metrics)[0], t_of(len(a), len(b), ALPHA)[0]
    verdict = 1 if estimate + wide < bound else 0 if estimate - narrow > bound else 2
    is_open = estimate - narrow <= bound <= estimate + narrow
    distance = abs(estimate - bound) if is_open else abs(estimate)
    for n in range(2, 201):
        half, se = t_of(n, n, ALPHA)
        if half + mpf("0.84") * se <= distance:
            return [mpf(verdict), mpf(n)]
    return [mpf(verdict), mpf(0)]


def precise(share, x):
    """Mean, half width, 1 if it is known to the share, rounds to that width, 0 for none up to 200."""
    x = [log(v) for v in x]
    s = sqrt(variance(x))

    def half(n):
        return inf if n < 5 else t_quantile(mpf("0.985"), mpf(n - 1)) * s / sqrt(mpf(n))

    wanted = log(1 + share)
    rounds = next((n for n in range(5, 201) if half(n) <= wanted), 0)
    return [mean(x), half(len(x)), mpf(half(len(x)) <= wanted), mpf(rounds)]


def settled(x):
    """Drift over the last half (60 values or more) as a share of its mean, half width, and 0 settled, 1 drifting, 2 cannot tell."""
    x = x[len(x) - max(len(x) // 2, 60):]
    n = mpf(len(x))
    # The normal equations of a + b t, without centring.
    t = [mpf(i) for i in range(len(x))]
    st, stt, sx, stx = sum(t), sum(v * v for v in t), sum(x), sum(a * b for a, b in zip(t, x))
    b = (n * stx - st * sx) / (n * stt - st * st)
    a = (sx - b * st) / n
    rest = [v - a - b * i for v, i in zip(x, t)]
    v = sum(e * e for e in rest)
    r = sum(p * q for p, q in zip(rest, rest[1:])) / v
    r = min(max(r + (1 + 4 * r) / n, mpf(0)), mpf("0.97"))
    inflation = (1 + r) / (1 - r)
    se = sqrt(v / max(n - 2 * inflation, mpf(1)) * inflation / (stt - st * st / n))
    scale = n / mean(x)
    drift, half = b * scale, t_quantile(mpf("0.975"), max(n / inflation - 2, mpf(1))) * se * scale
    limit = mpf("0.05")
    code = 0 if abs(drift) + half <= limit else 1 if abs(drift) > half and abs(drift) > limit else 2
    return [drift, half, mpf(code)]


def crossing(share, rates, ios, over):
    """Rate at which a share is beyond a limit, its interval, slope, dispersion: of the greatest likelihood; -1 if the slope is not known."""
    z = [log(r) for r in rates]

    def p_of(a, b, x):
        return 1 / (1 + exp(-(a + b * x)))

    def score(a, b):
        rest = [k - n * p_of(a, b, x) for x, n, k in zip(z, ios, over)]
        return [sum(rest), sum(r * x for r, x in zip(rest, z))]

    # A first guess by a straight line through the logits.
    y = [log((k + mpf("0.5")) / (n - k + mpf("0.5"))) for n, k in zip(ios, over)]
    b0 = sum((x - mean(z)) * (v - mean(y)) for x, v in zip(z, y)) / sum((x - mean(z)) ** 2 for x in z)
    a, b = findroot(score, (mean(y) - b0 * mean(z), b0), tol=mpf(10) ** -50)
    p = [p_of(a, b, x) for x in z]
    w = [n * q * (1 - q) for n, q in zip(ios, p)]
    s0, s1, s2 = sum(w), sum(u * x for u, x in zip(w, z)), sum(u * x * x for u, x in zip(w, z))
    freedom = mpf(len(z) - 2)
    phi = max(sum((k - n * q) ** 2 / u for n, k, q, u in zip(ios, over, p, w)) / freedom, mpf(1))
    t = t_quantile(mpf("0.975"), freedom)
    wanted = log(share / (1 - share))

    # Fieller: the ends of the places at which the line is not t standard errors from the wanted height.
    def excess(x):
        variance = phi * (s2 - 2 * s1 * x + s0 * x * x) / (s0 * s2 - s1 * s1)
        return abs(a + b * x - wanted) - t * sqrt(variance)

    at = (wanted - a) / b
    if b <= 0 or t * t * phi * s0 / (s0 * s2 - s1 * s1) / (b * b) >= mpf("0.5"):
        return [mpf(-1)]

    def end(sign):
        inside, step = at, mpf("0.0001")
        while excess(at + sign * step) < 0:
            step *= 2
        outside = at + sign * step
        for _ in range(140):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if excess(middle) < 0 else (inside, middle)
        return inside

    return [exp(at), exp(end(-1)), exp(end(1)), b, phi]


def line(rule, inputs, found):
    shown = ["inf" if isinf(v) else mp.nstr(v, 12, min_fixed=-20, max_fixed=20) for v in found]
    print(rule, " / ".join(" ".join(str(v) for v in part) for part in inputs), "|", " ".join(shown))


def exact(values):
    return [mpf(str(v)) for v in values]


def lognormal(rng, count, level, spread):
    return [float(f"{level * rng.lognormvariate(0, spread):.6g}") for _ in range(count)]


def main():
    rng = random.Random(20)
    for case in range(20):
        length = [15, 17, 29, 30, 31, 47, 60, 61, 77, 90, 119, 120, 121, 133, 150, 180, 200, 240, 255, 300][case]
        correlation, level, x = [0, 0.3, 0.8, 0.95][case % 4], 0.0, []
        for _ in range(length):
            level = correlation * level + rng.gauss(0, 1)
            x.append(float(f"{1000 + 40 * level:.7g}"))
        line("M1", [x], m1(exact(x)))
    for case in range(20):
        length, q = [15, 20, 30, 45, 60, 61, 90, 120, 150, 240][case % 10], [0.5, 0.99, 0.999][case % 3]
        even = case < 12
        ios = [rng.randint(900, 1100) if even else rng.randint(0, 3000) for _ in range(length)]
        slower = [sum(rng.random() < (1 - q) * 1.2 for _ in range(i)) for i in ios]
        line("M2", [[q], ios, slower], m2(mpf(str(q)), exact(ios), exact(slower)))
    sizes = [(2, 2), (2, 3), (3, 3), (3, 5), (4, 4), (5, 3), (5, 5), (6, 6), (8, 5), (9, 12)] * 2
    for case, (n, m) in enumerate(sizes):
        spread = [0.002, 0.01, 0.05, 0.3][case % 4]
        a = lognormal(rng, n, [80000, 0.4, 12.5][case % 3], spread)
        b = lognormal(rng, m, [80000, 0.4, 12.5][case % 3] * [1, 0.97, 0.9, 1.2][case % 4], spread * 1.5)
        line("M3sets", [a, b], welch(exact(a), exact(b)))
    for case in range(20):
        a = lognormal(rng, 8 + case, 100, [0.01, 0.1][case % 2])
        b = lognormal(rng, 1, [100, 93][case % 2], 0.03)
        line("M3one", [a, b], one_against(exact(a), exact(b)))
    for rule in ("M3pairs", "M4"):
        for case in range(20):
            count = 2 + case
            a = lognormal(rng, count, 5000, 0.1)
            factor = [1, 0.98, 1.05, 0.8][case % 4]
            b = [float(f"{v * factor * rng.lognormvariate(0, 0.02):.6g}") for v in a]
            if rule == "M3pairs":
                line(rule, [a, b], paired(exact(a), exact(b)))
            else:
                planned = [count, count + 7][case % 2]
                line(rule, [[planned], a, b], in_rounds(planned, exact(a), exact(b)))
    for case in range(20):
        count, metrics = 3 + case % 6, [1, 2, 6, 18][case % 4]
        a = lognormal(rng, count, 5000, 0.02)
        b = lognormal(rng, count + case % 2, 5000 * [1, 0.98, 0.94, 0.88, 1.04][case % 5], 0.02)
        line("M6", [[0.05], [metrics], a, b], gate(mpf("0.05"), metrics, exact(a), exact(b)))
    turns = random.Random(21)
    for case in range(20):
        count, own = 3 + case % 10, [0.03, 0.002][case // 10]
        level = [turns.lognormvariate(0, 0.02) for _ in range(count)]
        a, b = ([float(f"{rate * v * turns.lognormvariate(0, own):.6g}") for v in level] for rate in (5000, 4900))
        line("M3turns", [a, b], in_turns(exact(a), exact(b)))
    for case in range(20):
        share = [0.03, 0.01, 0.002][case % 3]
        x = lognormal(rng, 2 + case, [80000, 0.4, 1.02][case % 3], [0.002, 0.02, 0.1][case // 3 % 3])
        line("M5", [[share], x], precise(mpf(str(share)), exact(x)))
    for case in range(20):
        length = [60, 61, 90, 119, 120, 121, 160, 200, 240, 301][case % 10]
        correlation, drift = [0, 0.5, 0.8, 0.95][case % 4], [0, 0.02, -0.12, 0.3, -0.06][case % 5]
        level, x = 0.0, []
        for at in range(length):
            level = correlation * level + (1 - correlation ** 2) ** 0.5 * rng.gauss(0, 1)
            x.append(float(f"{1000 * (1 + drift * at / length) * (1 + 0.02 * level):.7g}"))
        line("M8", [x], settled(exact(x)))
    for case in range(20):
        count, share = [6, 12, 17, 30, 3][case % 5], [0.05, 0.01, 0.001, 0.5][case % 4]
        level, slope = [42000, 7697, 310.5][case % 3], [25, 60, 12, 90][case // 5]
        wide, ions = [0.05, 0.1][case % 2], [20000, 300000][case // 10]
        # The rates of some trials are 5 % higher: the answer lies at an end of them.
        rates = [float(f"{level * (1 + wide * (2 * i / (count - 1) - 1) + (0.05 if case % 7 == 3 else 0)):.7g}") for i in range(count)]
        rng.shuffle(rates)
        ios = [rng.randint(ions, 2 * ions) for _ in rates]
        burst = [0, 0.15][case % 2]
        odds = [share / (1 - share) * (r / level) ** slope * rng.lognormvariate(0, burst) for r in rates]
        over = [min(n, round(n * o / (1 + o) + rng.gauss(0, 1) * (n * o) ** 0.5 / (1 + o))) for n, o in zip(ios, odds)]
        over = [max(k, 0) for k in over]
        line("M10", [[share], rates, ios, over], crossing(mpf(str(share)), exact(rates), exact(ios), exact(over)))


main()
