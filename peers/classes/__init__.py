"""Classes of pages: from samples to the model by which a mesh tells them, and how good that is.

`samples` [io] are texts that people have put into classes, in files or `collection` [io] from a mesh;
`vectors` are their words in numbers. `linear` fits the weights of one class, `model_fit` those of a tree and
the thresholds; `issuer` [io] has a mesh obey the model (`engine.pages.class_model`), which peers apply to
their postings (`engine.matching.page_classes`).

`report` compares the methods of Li, Yan, Wang 2004, chapter 11, on any samples: `neighbours`, `prototypes`,
`bayes` and the linear model; features chosen by a `selection`, classes given by `cuts`, judged by `measures`.

`commands` [io] are those of which `cli` tells. No peer loads this package.
"""
