from tiny_models import picture_model, text_model, transformers  # noqa: F401
