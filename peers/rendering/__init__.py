"""Pages as a browser shows them, for sites with text that is made by scripts. Off by default.

`renderer` [io] has pages shown and answers what they ask for, by the fetcher and its rules; `browser` [io] is
one Chromium, which reaches no network; `browser_process` [io] is what it is before, and shuts itself off.
"""
