"""`loop doctor`: looks at everything that a run needs, and says what mends what is wrong.

Owns: the order. Each look is in a file `examine_*`.

Invariants: nothing is changed. One thing that is wrong does not keep the others from being looked
at. No secret is shown.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from loop.setup import examine_builder, examine_plugin, examine_project
from loop.setup.examine_desktop import desktop
from loop.setup.finding import Finding, error
from loop.store.paths import Project

__all__ = ["Finding", "examine"]


def examine(
    project: Project, *, env: Mapping[str, str], platform: str = sys.platform
) -> list[Finding]:
    """All findings, good ones too, in the order in which one would mend them."""
    findings = [examine_builder.python()]
    if not project.root.is_dir():
        return [*findings, error(f"the project folder {project.root} is gone", "put it back")]
    findings.append(examine_project.folders(project))
    findings.extend(examine_project.place(project))
    config, finding = examine_project.settings(project)
    findings.append(finding)
    repository, finding = examine_project.repository(project)
    findings.append(finding)
    findings.extend(examine_project.texts(project, repository))
    findings.extend(examine_builder.claude(project, config, env, platform))
    findings.extend(examine_builder.rules(project))
    findings.extend(examine_builder.keys(project, config, env))
    findings.extend(desktop(project, env, platform))
    findings.extend(examine_plugin.installed(project, env, platform))
    findings.append(examine_project.events(project))
    findings.extend(examine_project.notifications(project, config, env))
    findings.extend(examine_project.queue(project))
    return findings
