"""`gangcheck serve` and `gangcheck registration`: options to a configuration, and the server put together from it.

Nothing is imported here that `gangcheck --help` does not need: the server's packages take a second.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from webhook.errors import BadConfig

if TYPE_CHECKING:
    from webhook.config import Config
    from webhook.registration import Regime
    from webhook.rule import Rule
    from webhook.settings import Table
    from webhook.stack import Stack

V = TypeVar("V")

_CONFIG = click.option(
    "--config", "config_file", metavar="FILE", type=click.Path(), help="The policy file, as .gangcheck.yaml."
)
_STACK = click.option(
    "--stack",
    metavar="KEY=VALUE",
    multiple=True,
    help="What holds in the installation, as under stack in the configuration: hami=2.10, operators.kuberay=true.",
)


def _flag(section: str, key: str, *names: str, **options: Any) -> Callable[[Any], Any]:  # noqa: ANN401 - click's own
    """An option for a key of the policy file; it is read as the file would be."""
    help_text = f"{options.pop('help')}  [{section}.{key}]"
    return click.option(*names, f"{section}__{key}", help=help_text, default=None, **options)


_STRIP = _flag(
    "inject",
    "stripMinResources",
    "--strip-min-resources/--keep-min-resources",
    help="Take what no node advertises (gpumem, gpucores …) out of a new PodGroup's minResources.",
)

_FLAGS: Sequence[Callable[[Any], Any]] = (
    _flag("server", "listen", "--listen", metavar="ADDRESS:PORT", help="Where the webhooks are, over TLS."),
    _flag("server", "probes", "--probes", metavar="ADDRESS:PORT", help="Where /healthz, /readyz and /metrics are."),
    _flag("server", "tlsCert", "--tls-cert", metavar="FILE", help="The certificate with its chain, PEM."),
    _flag("server", "tlsKey", "--tls-key", metavar="FILE", help="The certificate's private key, PEM."),
    _flag(
        "server",
        "tlsNames",
        "--tls-name",
        metavar="NAME",
        multiple=True,
        help="Name or address of the certificate that the server makes where none is given; several may be.",
    ),
    _flag(
        "server",
        "certs",
        "--certs",
        metavar="embedded|managed|external",
        help="Whose the certificate is: a throwaway one, one kept by the server and its Secret, or the files.",
    ),
    _flag("server", "namespace", "--namespace", metavar="NAME", help="Of our Service and Secret; the Pod's own."),
    _flag("server", "service", "--service", metavar="NAME", help="Our Service."),
    _flag("server", "clusterDomain", "--cluster-domain", metavar="NAME", help="The cluster's DNS domain."),
    _flag("server", "caSecret", "--ca-secret", metavar="NAME", help="The Secret that holds the managed authorities."),
    _flag(
        "server",
        "mutatingConfiguration",
        "--mutating-configuration",
        metavar="NAME",
        help="The MutatingWebhookConfiguration whose caBundles are kept.",
    ),
    _flag(
        "server",
        "validatingConfiguration",
        "--validating-configuration",
        metavar="NAME",
        help="The ValidatingWebhookConfiguration whose caBundles are kept.",
    ),
    _flag("server", "leafSeconds", "--leaf-seconds", type=int, help="How long a managed certificate lives."),
    _flag("server", "caSeconds", "--ca-seconds", type=int, help="How long its authority lives."),
    _flag(
        "server",
        "propagationSeconds",
        "--propagation-seconds",
        type=int,
        help="How long every caBundle has carried an authority before it signs.",
    ),
    _flag(
        "server", "certsPollSeconds", "--certs-poll-seconds", type=int, help="How often caBundles and Secret are read."
    ),
    _flag("server", "caOut", "--ca-out", metavar="FILE", help="Write the certificate of the server's own CA here."),
    _flag("server", "threads", "--threads", type=int, help="Threads that answer reviews."),
    _flag("server", "maxInFlight", "--max-in-flight", type=int, help="Reviews at once; more are told to come back."),
    _flag("server", "drainSeconds", "--drain-seconds", type=int, help="How long to go on after SIGTERM, unready."),
    _flag("server", "graceSeconds", "--grace-seconds", type=int, help="How long to finish what is left then."),
    _flag("server", "keepaliveSeconds", "--keepalive-seconds", type=int, help="How long to keep idle connections."),
    _flag("server", "index", "--index/--no-index", help="Keep an index of gangs by asking the API server."),
    _flag("server", "kubeconfig", "--kubeconfig", metavar="FILE", help="Where the API server is."),
    _flag(
        "server",
        "detectStack",
        "--detect-stack/--no-detect-stack",
        help="Take what the stack does not say from the cluster's HAMi, once at the start.",
    ),
    _flag("server", "hamiNamespace", "--hami-namespace", metavar="NAME", help="Where HAMi is, for --detect-stack."),
    _flag("admission", "ownedPods", "--owned-pods", metavar="deny|warn", help="For Pods that have a controller."),
    _flag(
        "admission",
        "suppressionsLiftDenials",
        "--suppressions-lift-denials/--suppressions-lift-warnings",
        help="What an ignore annotation silences.",
    ),
    _flag("admission", "events", "--events/--no-events", help="Tell owners of Pods by Events."),
    _flag("inject", "taskPriority", "--task-priority", type=int, help="CUDA_TASK_PRIORITY where limits name none."),
    _flag(
        "inject",
        "coreUtilizationPolicy",
        "--core-utilization-policy",
        metavar="POLICY",
        help="GPU_CORE_UTILIZATION_POLICY: default, force or disable.",
    ),
    _flag("inject", "hideGPUs", "--hide-gpus/--no-hide-gpus", help="Hide GPUs from containers that ask for none."),
    _STRIP,
)


def _with_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    for flag in reversed(_FLAGS):
        command = flag(command)
    return command


@click.command(short_help="Answer the API server's admission reviews.")
@_CONFIG
@_STACK
@click.option("--select", metavar="RULE,...", multiple=True, help="Only these rules; pod-group-* is a group of rules.")
@click.option("--ignore", metavar="RULE,...", multiple=True, help="Not these rules.")
@_with_flags
@click.option("--print-config", is_flag=True, help="Show every setting that holds, as a policy file, and end.")
def serve(
    *,
    config_file: str | None,
    stack: tuple[str, ...],
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    print_config: bool,
    **flags: object,
) -> int | None:
    """Answer the API server's admission reviews: /mutate, /validate and /validate/warn over TLS.

    Every option is a key of the policy file too (in brackets), and goes before what the file says. Without --tls-cert
    the server makes a certificate of its own: one for this run, or with --certs managed one that the cluster trusts.
    Reviews are logged on stderr, one line each. SIGTERM ends it without a failed review; SIGINT at once.
    """
    from webhook.rules import all_rules

    rules = all_rules()
    given = {name.replace("__", "."): value for name, value in flags.items()}
    config = configuration(config_file, rules, given, stack=stack, select=_split(select), ignore=_split(ignore))
    if print_config:
        from webhook.config_text import config_text
        from webhook.console import write

        return 0 if write(config_text(config), "-") else 4
    from webhook.assembly import run
    from webhook.service import remark
    from webhook.serving.logging_ import log

    said = config.server and remark(config.server)
    if said:
        log({"event": "loopback only", "level": "warning", "message": said})
    return run(config, rules)


def _split(values: Sequence[str]) -> tuple[str, ...]:
    return tuple(name.strip() for value in values for name in value.split(",") if name.strip())


def configuration(
    file: str | None,
    rules: Sequence[Rule],
    flags: Mapping[str, object],
    *,
    stack: Sequence[str] = (),
    select: tuple[str, ...] = (),
    ignore: tuple[str, ...] = (),
) -> Config:
    """What holds: the file's settings, and over them those of the command line. Raises BadConfig.

    The server injects schedulerName itself, so the stack has injectsScheduler unless file or command line say no.
    `flags` maps `section.key` of the policy file to a value as YAML would have it, None or empty for not given.
    """
    from webhook import service
    from webhook.review import Enforcement, VgpuEnv
    from webhook.settings import read_setting, read_stack
    from webhook.stack import Stack

    config = _read(file, rules, Stack(injects_scheduler=True))
    _check_rules((*select, *ignore), rules)
    for setting in stack:
        config = config._replace(stack=read_stack(read_setting(setting), config.stack))
    server = _over(config.server or service.Server(), service.SERVER, flags, "server")
    wrong = service.contradiction(server)
    if wrong:
        raise BadConfig(f"server.{wrong[0]}: {wrong[1]}")
    return config._replace(
        select=select or config.select,
        ignore=ignore if select else (*config.ignore, *ignore),
        server=server,
        enforcement=_over(config.enforcement or Enforcement(), service.ADMISSION, flags, "admission"),
        env=_over(config.env or VgpuEnv(), service.INJECT, flags, "inject"),
    )


def _read(file: str | None, rules: Sequence[Rule], base: Stack) -> Config:
    from webhook import sources
    from webhook.config import Config, read_config

    if not file:
        return Config(stack=base)
    return read_config(sources.read_text(file), sources.shown(file), [rule.name for rule in rules], base)


def _check_rules(names: Sequence[str], rules: Sequence[Rule]) -> None:
    from webhook.config import unknown_rule

    for name in names:
        fault = unknown_rule(name, [rule.name for rule in rules])
        if fault:
            raise BadConfig(fault)


def _over(value: V, table: Table, flags: Mapping[str, object], section: str) -> V:
    """A section of the file with the command line's settings over it."""
    from webhook.settings import Wrong, fields

    prefix = f"{section}."
    given = {
        key.removeprefix(prefix): list(item) if isinstance(item, tuple) else item
        for key, item in flags.items()
        if key.startswith(prefix) and item not in (None, ())
    }
    try:
        return replace(value, **fields(given, (), table))  # type: ignore[type-var] # all three are dataclasses
    except Wrong as wrong:
        raise BadConfig(f"{prefix}{'.'.join(map(str, wrong.path))}: {wrong}") from None


@click.command(short_help="Print both webhook configurations.")
@_CONFIG
@_STACK
@click.option("--namespace", metavar="NAME", default="gangcheck", show_default=True, help="Of our Service.")
@click.option("--service", metavar="NAME", default="gangcheck", show_default=True, help="Our Service.")
@click.option("--port", type=click.IntRange(1, 65535), default=443, show_default=True, help="The Service's port.")
@click.option("--url", metavar="URL", default="", help="Register this URL and no Service: https://127.0.0.1:8443.")
@click.option(
    "--ca-file", metavar="FILE", type=click.Path(), help="The authority that the API server is to trust, PEM."
)
@click.option(
    "--exclude-namespace",
    "excluded",
    metavar="NAME",
    multiple=True,
    default=("hami-system",),
    show_default=True,
    help="A namespace that never reaches us, beside Kubernetes' own and ours: HAMi's. Several may be given.",
)
@click.option(
    "--failure-policy",
    type=click.Choice(["Ignore", "Fail"]),
    default="Ignore",
    show_default=True,
    help="Of /validate: what happens where no verdict can be had.",
)
@click.option(
    "--regime",
    type=click.Choice(["normal", "warn-only", "strict"]),
    default="normal",
    show_default=True,
    help="warn-only: nothing is ever denied. strict: namespaces may choose the mode strict, which lets nothing "
    "through without a verdict.",
)
@_STRIP
@click.option(
    "--admission-policy",
    is_flag=True,
    help="Print instead the ValidatingAdmissionPolicy that holds pod-group-annotation while the server is away.",
)
def registration(
    *,
    config_file: str | None,
    stack: tuple[str, ...],
    ca_file: str | None,
    excluded: tuple[str, ...],
    failure_policy: Literal["Ignore", "Fail"],
    namespace: str,
    service: str,
    port: int,
    url: str,
    regime: Regime,
    inject__stripMinResources: bool | None,  # noqa: N803 - section and key of the policy file
    admission_policy: bool,
) -> int:
    """Print the MutatingWebhookConfiguration and the ValidatingWebhookConfiguration that fit the stack, as YAML.

    Only objects with a GPU or a gang reach the server; namespaces are picked by their label gangcheck.io/mode:
    enforce (also without it), warn or off.
    """
    import yaml

    from webhook.console import say, write
    from webhook.registration import Options, Reach, configurations
    from webhook.review import Enforcement
    from webhook.rules import all_rules

    _check_url(url)
    flags = {"inject.stripMinResources": inject__stripMinResources}
    config = configuration(config_file, all_rules(), flags, stack=stack)
    enforcement = config.enforcement or Enforcement()
    reach = Reach(url, namespace, service, port, _authority(ca_file))
    if url and not ca_file:
        say(f"note: without --ca-file the API server trusts {url} only by an authority that its own machine knows")
    repairs = config.env is not None and config.env.strip_min_resources
    options = Options(reach, excluded, failure_policy, regime, events=enforcement.events, repairs=repairs)
    if admission_policy:
        from webhook.admission_policy import admission_policy as standing_in

        both = standing_in(config.stack, options, enforcement)
    else:
        both = configurations(config.stack, options)
    return 0 if write(yaml.safe_dump_all(both, sort_keys=False, width=120), "-") else 4


def _check_url(url: str) -> None:
    from webhook.rules.webhook_field_missing import url_fault

    wrong = url_fault(url) if url else ""
    if wrong:
        raise BadConfig(f"--url: wanted is https://HOST[:PORT][/PATH], and {url!r} {wrong}")


def _authority(file: str | None) -> bytes:
    """The certificates of an authority, which everybody who may read webhook configurations will read."""
    from webhook import sources

    if not file:
        return b""
    text = sources.read_text(file)
    if "PRIVATE KEY-----" in text:
        raise BadConfig(f"{file}: a private key is in this file; give one with the authority's certificate alone")
    if "-----BEGIN CERTIFICATE-----" not in text:
        raise BadConfig(f"{file}: no PEM certificate is in this file")
    return text.encode()
