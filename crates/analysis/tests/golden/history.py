#!/usr/bin/env python3
"""Computes history.txt, the golden values of crates/analysis/src/statistics/history.rs, from the definitions and without
any code of plumb: python3 history.py >history.txt"""
import math
import random

CRITICAL = {0.01: [(8, 4.65), (10, 4.39), (12, 4.26), (15, 4.09), (20, 3.95), (30, 3.80), (50, 3.72), (100, 3.68), (200, 3.68), (400, 3.72)],
            0.002: [(8, 6.58), (10, 5.72), (12, 5.40), (15, 4.97), (20, 4.72), (30, 4.43), (50, 4.30), (100, 4.17), (200, 4.20), (400, 4.19)]}


def beta_fraction(a, b, x):
    """Continued fraction of the incomplete beta function (Lentz)."""
    tiny, c, d = 1e-300, 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > tiny else tiny)
    h = d
    for m in range(1, 1000):
        for n in (m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)), -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))):
            d = 1 + n * d
            d = 1 / (d if abs(d) > tiny else tiny)
            c = 1 + n / c
            c = c if abs(c) > tiny else tiny
            h *= d * c
        if abs(d * c - 1) < 1e-16:
            break
    return h


def incomplete_beta(a, b, x):
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(1 - x))
    if x < (a + 1) / (a + b + 2):
        return front * beta_fraction(a, b, x) / a
    return 1 - front * beta_fraction(b, a, 1 - x) / b


def t_quantile(p, df):
    low, high = 0.0, 1e4
    for _ in range(200):
        middle = (low + high) / 2
        if 1 - incomplete_beta(df / 2, 0.5, df / (df + middle * middle)) / 2 < p:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def mean(x):
    return math.fsum(x) / len(x)


def squares(x):
    m = mean(x)
    return math.fsum((v - m) ** 2 for v in x)


def t_of(left, right):
    s2 = (squares(left) + squares(right)) / (len(left) + len(right) - 2)
    return abs(mean(left) - mean(right)) / math.sqrt(s2 * (1 / len(left) + 1 / len(right)))


def division(x):
    return max(((t_of(x[:k], x[k:]), -k) for k in range(3, len(x) - 2)))


def critical(n, alpha):
    rows = CRITICAL[alpha]
    for (a, c), (b, d) in zip(rows, rows[1:]):
        if a <= n <= b:
            return c + (math.log(n) - math.log(a)) / (math.log(b) - math.log(a)) * (d - c)
    return rows[-1][1]


def changes(x, alpha):
    found, open_ = [], [(0, len(x))]
    while open_:
        a, b = open_.pop()
        if b - a < 8:
            continue
        t, k = division(x[a:b])
        k = a - k
        if t > critical(b - a, alpha) and abs(mean(x[k:b]) - mean(x[a:k])) >= math.log(1.03):
            found.append(k)
            open_ += [(a, k), (k, b)]
    found.sort()
    borders = [0] + found + [len(x)]
    rows = []
    for start, at, end in zip(borders, borders[1:], borders[2:]):
        left, right = x[start:at], x[at:end]
        df = len(left) + len(right) - 2
        error = math.sqrt((squares(left) + squares(right)) / df * (1 / len(left) + 1 / len(right)))
        step, half = mean(right) - mean(left), t_quantile(0.975, df) * error
        rows.append((at, mean(left), mean(right), step - half, step + half))
    return rows


def outside(v, before):
    before = before[-30:]
    if len(before) < 7:
        return None
    m, n = mean(before), len(before)
    half = t_quantile(0.995, n - 1) * math.sqrt(squares(before) / (n - 1) * (1 + 1 / n))
    return (v > m, m, n) if abs(v - m) > half else None


def newest(x):
    before, earlier = outside(x[-1], x[:-1]), x[:-2]
    previous = outside(x[-2], earlier)
    if previous and outside(x[-1], earlier) and outside(x[-1], earlier)[0] == previous[0]:
        return "changed", previous[1], previous[2]
    return ("unusual", before[1], before[2]) if before else ("usual", 0.0, 0)


rng = random.Random(20)
for case in range(20):
    n = [8, 9, 10, 11, 12, 14, 15, 17, 20, 23, 28, 30, 36, 41, 50, 60, 75, 100, 140, 250][case]
    x = [math.log(80000) + rng.gauss(0, 0.02) for _ in range(n)]
    if case % 4 == 1:
        x = [v - (0.12 if i >= n // 2 else 0) for i, v in enumerate(x)]
    if case % 4 == 2:
        x[-1] += 0.2
        if case % 8 == 6:
            x[-2] += 0.2
    if case % 4 == 3:
        x = [v + (0.1 if i >= n // 3 else 0) - (0.3 if i >= 2 * n // 3 else 0) for i, v in enumerate(x)]
    t, k = division(x)
    print("values", *(repr(v) for v in x))
    print("division", -k, f"{t:.12g}", f"{critical(n, 0.01):.12g}", f"{critical(n, 0.002):.12g}")
    for row in changes(x, 0.002):
        print("change", row[0], *(f"{v:.12g}" for v in row[1:]))
    kind, m, count = newest(x)
    print("newest", kind, f"{m:.12g}", count)
