# SPDX-License-Identifier: MIT
"""A fault of mutants.py that no longer finds its text would be put nowhere, and show nothing."""

import pytest
from mutants import MUTANTS
from stages import ROOT


@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant.name for mutant in MUTANTS])
def test_text_is_there(mutant):
    """Once, and in the file that is named; and there is a file of tests that is to turn red."""
    assert (ROOT / mutant.file).read_text().count(mutant.old) == 1
    assert (ROOT / mutant.test[1]).exists()
