"""Names and origins of .NET frames.

Where the repository is at hand `retrieval.model.signatures.in_repository` knows better than the namespaces here.
"""

import re

# The platform and its frameworks, data and messages, logs and telemetry, test runners.
_FOREIGN = tuple(
    """
    System. Microsoft. Interop. Internal. MS. Windows. Mono. FSharp.
    Npgsql. MySql. MySqlConnector. MongoDB. Oracle. StackExchange. Dapper. NHibernate. RabbitMQ. Confluent. MassTransit.
    Grpc. Google.Protobuf. Google.Api. Google.Cloud. Azure. Amazon. Newtonsoft. MediatR. AutoMapper. FluentValidation.
    Polly. Hangfire. Quartz. Autofac. Castle. Swashbuckle. Orleans. Akka. Refit. RestSharp. IdentityModel.
    Serilog. NLog. log4net. OpenTelemetry. Sentry. Datadog. Elastic.Apm. NewRelic. Prometheus.
    Xunit. NUnit. Moq. NSubstitute. FluentAssertions. BenchmarkDotNet.
    """.split()  # noqa: SIM905 - one line a kind is easier to read and to extend
)
# Names that the compiler makes up (Roslyn's GeneratedNames): state machines (`<M>d__5.MoveNext`), lambdas
# (`<>c__DisplayClass3_0.<M>b__0`), local functions (`<M>g__Local|3_0`), top-level statements (`<Main>$`).
_STATE_MACHINE = re.compile(r"<([^<>]{1,200})>d(?:__\d+)?(?:`\d+)?\.MoveNext$")
_HOLDER = re.compile(r"<>c(?:__DisplayClass\d+(?:_\d+)?)?(?:`\d+)?(?:<[^<>]*>)?\.")
_LOCAL = re.compile(r"<([^<>]{1,200})>g__(\w{1,200})\|[\d_]+")
_LAMBDA = re.compile(r"<([^<>]{1,200})>(?:b__[\d_]+|\$)")
_ARITY = re.compile(r"`\d+|\[[^\[\]]*\]")
_ACCESSOR = re.compile(r"(^|\.)(?:get|set|init|add|remove)_(\w+)$")


def in_app(function: str) -> bool:
    """False for the platform and well-known frameworks, by namespace, and for code that was made at run time."""
    return "." in function and not function.startswith(_FOREIGN) and not function.startswith("lambda_method")


def qualname(printed: str) -> str:
    """`Acme.Cart`1.<Total>b__0` -> `Acme.Cart.Total`: namespaces, types and members as the symbols are named; a
    constructor has the name of its class, a lambda that of the method around it."""
    name = _STATE_MACHINE.sub(r"\1", printed)
    name = _LAMBDA.sub(r"\1", _LOCAL.sub(r"\1.\2", _HOLDER.sub("", name)))
    name = _ARITY.sub("", name).replace("+", ".")
    for constructor in ("..ctor", "..cctor"):
        if name.endswith(constructor):
            owner = name.removesuffix(constructor)
            return f"{owner}.{owner.rpartition('.')[2]}"
    return _ACCESSOR.sub(r"\1\2", name)
