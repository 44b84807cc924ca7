# What Sphinx makes of the Markdown files: see README.md.
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


def setup(app):
    from pygments.lexers.special import TextLexer
    app.add_lexer("lua-session", TextLexer)
