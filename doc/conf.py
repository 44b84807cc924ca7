# What Sphinx makes of the Markdown files: see README.md.
import pathlib
import re

project = html_title = "pmclua"
extensions = ["myst_parser"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 4                # links go to headings as on a forge: PAGE.md#words-of-a-heading
smartquotes = False                     # what is quoted is meant to be typed
root_doc = "doc/index"
html_theme = "furo"
html_static_path = ["static", "/usr/share/javascript/normalize.css/normalize.css"]
html_css_files = [("normalize.css", {"priority": 100}), "pmclua.css"]       # the theme's own has 500
html_copy_source = html_show_sourcelink = html_show_copyright = html_show_sphinx = False


def follow_the_reader(app, failure):
    """Debian's furo has dark colours, and no rule that takes them where the reader prefers them."""
    style = pathlib.Path(app.outdir, "_static/styles/furo.css")
    text = style.read_text() if not failure and style.exists() else "prefers-color-scheme"
    dark = re.search(r'body\[data-theme="dark"\] (\{[^}]*\})', text)
    if dark and "prefers-color-scheme" not in text:
        style.write_text(text + "\n@media screen and (prefers-color-scheme: dark) {\n"
                         '  body:not([data-theme="light"]) ' + dark.group(1) + "\n}\n")


def setup(app):
    app.connect("build-finished", follow_the_reader)
    from pygments.lexers.special import TextLexer
    app.add_lexer("lua-session", TextLexer)
