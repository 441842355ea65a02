#!/usr/bin/env python3
"""Watches a run with xarray while another program writes it: the mean of a variable over time.

  watch.py RUN.zarr VARIABLE [--until STEPS] [--timeout SECONDS] [--save PLOT.png]

With matplotlib it draws (into the file of --save, else into a window); without, it prints a line for each step. A series of ozarr publishes its steps
of all variables at once, so that xarray sees the same number in each, at every moment. Ends after STEPS steps, or when none came for SECONDS.
"""
import argparse, sys, time

import xarray as xr

try:
    import matplotlib
except ImportError:
    matplotlib = None


class Lines:
    """Prints what is new."""

    shown = 0

    def show(self, at, means):
        for i in range(self.shown, len(means)):
            print(f"step {i}  {at[i]}  mean {means[i]:.6g}", flush=True)
        self.shown = len(means)


class Plot:
    """Draws all again, into a file or a window."""

    def __init__(self, file, name):
        if file:
            matplotlib.use("Agg")
        from matplotlib import pyplot

        self.plt, self.file, self.name = pyplot, file, name
        self.figure, self.axes = self.plt.subplots()

    def show(self, at, means):
        self.axes.clear()
        self.axes.plot(at, means)
        self.axes.set_ylabel(f"mean of {self.name}")
        if self.file:
            self.figure.savefig(self.file)
        else:
            self.plt.pause(0.01)


def look(run, name):
    """The values of the first dimension, and the mean of the variable for each, as they are in the store now."""
    with xr.open_zarr(run) as ds:
        variable = ds[name]
        steps = variable.dims[0]
        return variable[steps].values, variable.mean([d for d in variable.dims if d != steps]).values


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("run")
    ap.add_argument("variable")
    ap.add_argument("--until", type=int, default=sys.maxsize, help="end after so many steps")
    ap.add_argument("--timeout", type=float, default=60, help="end when no step came for so many seconds")
    ap.add_argument("--save", help="draw into this file instead of a window")
    a = ap.parse_args()
    view, seen, last = None, 0, time.monotonic()
    while seen < a.until:
        try:
            at, means = look(a.run, a.variable)
        except (FileNotFoundError, KeyError):
            at = ()  # The run has not begun yet.
        if len(at) > seen:
            view = view or (Plot(a.save, a.variable) if matplotlib else Lines())
            view.show(at, means)
            seen, last = len(at), time.monotonic()
        elif time.monotonic() - last > a.timeout:
            return 0 if a.until == sys.maxsize else f"watch.py: {seen} steps came, expected {a.until}"
        time.sleep(0.1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
