"""How the documentation is built: `make docs`."""

import pkgutil
import re
import warnings
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.nodes import make_refnode
from sphinx_gallery.sorting import ExplicitOrder

import ambilearn
from ambilearn.registry import METHODS

project = "ambilearn"
author = "The ambilearn developers"
copyright = f"2026, {author}"
version = release = ambilearn.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinx-mathjax-offline",  # the pages need no network to show formulas
]
templates_path = ["_templates"]

# Every reference must have a target. What is not ours is either linked below or in plain type.
nitpicky = True
nitpick_ignore_regex = [
    ("py:.*", r"(numpy|scipy|pandas|dask|distributed)\b.*"),
    ("py:meth", r"_\w+"),  # private methods, named for those who add a method
]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
myst_links_external_new_tab = True

# The methods of the API page come from the registry, so that none is forgotten. The page includes
# them, and autosummary, which does not follow inclusions, is given both files.
methods_page = ".. currentmodule:: ambilearn\n\n.. autosummary::\n   :toctree: generated\n\n"
names = dict.fromkeys(method.name for method in METHODS.values() if method.extra is None)
methods_page += "".join(f"   {name}\n" for name in names)
Path(__file__).parent.joinpath("api", "methods.rst").write_text(methods_page, encoding="utf-8")
autosummary_generate = ["api/index.rst", "api/methods.rst"]
exclude_patterns = ["api/methods.rst"]
autodoc_typehints = "none"  # the docstrings say more than the annotations
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

gallery_order = [
    "plot_candidate_sets.py",
    "plot_clean_labels.py",
    "plot_annotator_votes.py",
    "plot_choose_parameters.py",
    "plot_compare_methods.py",
    "plot_stacking.py",
    "plot_ablation.py",
    "plot_any_model.py",
    "plot_landmarks.py",
    "stored_images.py",
    "*",
]
for category in (UserWarning, FutureWarning):  # which a script would show its readers
    warnings.simplefilter("error", category)
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    # Scripts stored_*.py need PyTorch: they are shown with the outputs that they contain.
    "ignore_pattern": r"(^|/)(?!plot_|stored_)\w+\.py$",
    "within_subsection_order": ExplicitOrder(gallery_order),
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("ambilearn",),
    "reference_url": {"ambilearn": None},
    "abort_on_example_error": True,
    "download_all_examples": False,
    "write_computation_times": False,
    "show_signature": False,
    "remove_config_comments": True,
    "image_srcset": ["2x"],
}

html_theme = "pydata_sphinx_theme"
html_title = "ambilearn"
html_static_path = ["_static"]
html_css_files = ["ambilearn.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "ambilearn"},
    "navigation_with_keys": False,
    "show_nav_level": 1,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
html_sidebars = {"index": []}
copybutton_exclude = ".linenos, .gp, .go"


def resolve(app: Sphinx, env: Any, node: Any, contnode: Any) -> nodes.Node | None:
    """Resolve what has no page under its name; what remains is a broken reference, an error.

    Names of scikit-learn are linked to its pages. Ours are linked from wherever a docstring finds
    them; those that exist but are not public stay in plain type.
    """
    target = node.get("reftarget", "")
    if re.fullmatch(r"sklearn(\.\w+)+", target):  # its addresses need no inventory
        address = f"https://scikit-learn.org/stable/modules/generated/{target}.html"
        return nodes.reference("", "", contnode, internal=False, refuri=address)
    pages = {"term": f"glossary.html#term-{target}", "ref": f"{target}.html"}
    if node.get("reftype") in pages:  # in docstrings that are inherited from scikit-learn
        address = f"https://scikit-learn.org/stable/{pages[node['reftype']]}"
        return nodes.reference("", "", contnode, internal=False, refuri=address)
    if node.get("refdomain") != "py":
        return None
    name = re.search(r"([A-Z]\w*\.)?\w+$", target)[0]  # with its class, if it is a method
    objects = env.domaindata["py"]["objects"]
    same = [full for full in objects if re.fullmatch(rf"ambilearn(\.\w+)?\.{name}", full)]
    if len(same) == 1:
        place = objects[same[0]]
        return make_refnode(
            app.builder, node["refdoc"], place.docname, place.node_id, contnode, same[0]
        )
    try:
        pkgutil.resolve_name(target)
    except (ImportError, AttributeError, ValueError):
        return None
    return contnode if target.startswith("ambilearn.") else None


def keep_underscores(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: Any) -> None:
    """The shape (n_iter_,) names an attribute; reStructuredText would take it for a link."""
    lines[:] = [re.sub(r"\((\w+)_,\)", r"(\1\\_,)", line) for line in lines]


def give_title(app: Sphinx, docname: str, source: list[str]) -> None:
    """Give a heading to the tables that `ambilearn paper tables` wrote with a title in bold."""
    if docname.startswith("reproduction/"):
        source[0] = re.sub(r"\A\*\*(.+)\*\*\n", r"# \1\n", source[0])


def setup(app: Sphinx) -> None:
    """Add the hooks above."""
    app.connect("missing-reference", resolve)
    app.connect("autodoc-process-docstring", keep_underscores, priority=1)
    app.connect("source-read", give_title)
