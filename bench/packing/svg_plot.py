"""Line plots as SVG, side by side in panels that share their vertical axis and their legend.
A white rectangle lies behind them, so that they can be read on a dark page too."""
import dataclasses
import math
from xml.sax.saxutils import escape

# Okabe and Ito's colours, which colour-blind people can tell apart; dashes tell the rest.
COLOURS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
DASHES = ("", "7 3", "2 2", "9 3 2 3")
TEXT, GRID, BACKGROUND = "#222222", "#dddddd", "#ffffff"
PANEL_HEIGHT, LEFT, TOP, BOTTOM, GAP, LEGEND_WIDTH = 300, 64, 56, 52, 24, 170
TICKS = 6


@dataclasses.dataclass(frozen=True)
class Point:
    x: float
    y: float
    low: float  # the band around y
    high: float


@dataclasses.dataclass(frozen=True)
class Series:
    name: str
    points: tuple[Point, ...]


@dataclasses.dataclass(frozen=True)
class Panel:
    title: str  # empty where there is one panel
    series: tuple[Series, ...]


@dataclasses.dataclass(frozen=True)
class Plot:
    title: str
    x_title: str
    y_title: str
    panels: tuple[Panel, ...]
    panel_width: int = 560
    y_range: tuple[float, float] | None = None  # None: what the bands need


@dataclasses.dataclass(frozen=True)
class Frame:
    """Where a panel lies, and which values its edges have."""
    left: float
    width: float
    x_range: tuple[float, float]
    y_range: tuple[float, float]

    def x(self, value: float) -> float:
        low, high = self.x_range
        return self.left + self.width * (value - low) / (high - low)

    def y(self, value: float) -> float:
        low, high = self.y_range
        return TOP + PANEL_HEIGHT * (high - value) / (high - low)


def tick_step(span: float) -> float:
    """1, 2 or 5 times a power of ten, so that about TICKS of them fill the span."""
    magnitude = 10 ** math.floor(math.log10(span / TICKS))
    return next(factor * magnitude for factor in (1, 2, 5, 10)
                if span / (factor * magnitude) <= TICKS)


def ticks(low: float, high: float) -> list[float]:
    step = tick_step(high - low)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(number * step, 10) for number in range(first, last + 1)]


def range_of(values: list[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    return (low, high) if low < high else (low - 1, high + 1)


def rounded_out(low: float, high: float) -> tuple[float, float]:
    step = tick_step(high - low)
    return step * math.floor(low / step), step * math.ceil(high / step)


def text(x: float, y: float, words: str, anchor="middle", size=12, more="") -> str:
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" '
            f'fill="{TEXT}"{more}>{escape(words)}</text>')


def axes(frame: Frame, panel: Panel, is_first: bool) -> list[str]:
    bottom, right = TOP + PANEL_HEIGHT, frame.left + frame.width
    parts = [text(frame.left + frame.width / 2, TOP - 8, panel.title)] if panel.title else []
    for value in ticks(*frame.y_range):
        y = frame.y(value)
        parts.append(f'<line x1="{frame.left:.1f}" y1="{y:.1f}" x2="{right:.1f}" y2="{y:.1f}" '
                     f'stroke="{GRID}"/>')
        if is_first:
            parts.append(text(frame.left - 6, y + 4, f"{value:g}", anchor="end"))
    for value in ticks(*frame.x_range):
        x = frame.x(value)
        parts.append(f'<line x1="{x:.1f}" y1="{bottom}" x2="{x:.1f}" y2="{bottom + 4}" '
                     f'stroke="{TEXT}"/>')
        parts.append(text(x, bottom + 18, f"{value:g}"))
    parts.append(f'<rect x="{frame.left:.1f}" y="{TOP}" width="{frame.width}" '
                 f'height="{PANEL_HEIGHT}" fill="none" stroke="{TEXT}"/>')
    return parts


def stroke_of(number: int) -> str:
    dash = DASHES[number % len(DASHES)]
    style = f'stroke="{COLOURS[number % len(COLOURS)]}" stroke-width="2"'
    return style + (f' stroke-dasharray="{dash}"' if dash else "")


def path_of(frame: Frame, corners: list[tuple[float, float]]) -> str:
    return " ".join(f"{frame.x(x):.1f},{frame.y(y):.1f}" for x, y in corners)


def curve(frame: Frame, series: Series, number: int) -> list[str]:
    over = [(point.x, point.high) for point in series.points]
    under = [(point.x, point.low) for point in reversed(series.points)]
    middle = [(point.x, point.y) for point in series.points]
    return [f'<polygon points="{path_of(frame, over + under)}" '
            f'fill="{COLOURS[number % len(COLOURS)]}" fill-opacity="0.15"/>',
            f'<polyline points="{path_of(frame, middle)}" fill="none" {stroke_of(number)}/>']


def legend(left: float, names: list[str]) -> list[str]:
    parts = []
    for number, name in enumerate(names):
        y = TOP + 12 + 22 * number
        parts.append(f'<line x1="{left:.1f}" y1="{y}" x2="{left + 34:.1f}" y2="{y}" '
                     f'{stroke_of(number)}/>')
        parts.append(text(left + 42, y + 4, name, anchor="start"))
    return parts


def frame_of(plot: Plot, number: int) -> Frame:
    points = [point for panel in plot.panels for each in panel.series for point in each.points]
    y_range = plot.y_range or rounded_out(
        *range_of([value for point in points for value in (point.low, point.high)]))
    return Frame(LEFT + number * (plot.panel_width + GAP), plot.panel_width,
                 range_of([point.x for point in points]), y_range)


def draw(plot: Plot) -> str:
    """The file's text. Requires: a panel, and in each panel a series with a point."""
    names = list(dict.fromkeys(each.name for panel in plot.panels for each in panel.series))
    right = LEFT + len(plot.panels) * (plot.panel_width + GAP)
    width, height = right + LEGEND_WIDTH, TOP + PANEL_HEIGHT + BOTTOM
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
             f'width="{width}" height="{height}" font-family="sans-serif" role="img">',
             f"<title>{escape(plot.title)}</title>",
             f'<rect width="{width}" height="{height}" fill="{BACKGROUND}"/>',
             text(LEFT, 24, plot.title, anchor="start", size=15, more=' font-weight="bold"'),
             "<defs>"]
    frames = [frame_of(plot, number) for number in range(len(plot.panels))]
    for number, frame in enumerate(frames):  # values outside of a given range are cut off
        parts.append(f'<clipPath id="panel{number}"><rect x="{frame.left:.1f}" y="{TOP}" '
                     f'width="{frame.width}" height="{PANEL_HEIGHT}"/></clipPath>')
    parts.append("</defs>")
    for number, (frame, panel) in enumerate(zip(frames, plot.panels)):
        parts += axes(frame, panel, number == 0)
        parts.append(f'<g clip-path="url(#panel{number})">')
        for series in panel.series:
            parts += curve(frame, series, names.index(series.name))
        parts.append("</g>")
    middle = (LEFT + right - GAP) / 2
    parts.append(text(middle, TOP + PANEL_HEIGHT + 40, plot.x_title))
    y = TOP + PANEL_HEIGHT / 2
    parts.append(text(18, y, plot.y_title, more=f' transform="rotate(-90 18 {y:.1f})"'))
    return "\n".join([*parts, *legend(right, names), "</svg>", ""])
