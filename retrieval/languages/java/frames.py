"""Which frames of a Java trace are the application's own.

A frame prints no folder, only a class, so that the package name decides. Where the repository is at hand
`retrieval.model.signatures.in_repository` knows better.
"""

import re

# The platform, web and application frameworks, data and messages, logs and telemetry and proxies, test runners.
_FOREIGN = tuple(
    """
    java. javax. jakarta. jdk. sun. com.sun. com.ibm.ws. kotlin. kotlinx. scala. groovy. org.codehaus.groovy.
    clojure. akka. org.graalvm.
    org.springframework. org.apache.catalina. org.apache.coyote. org.apache.tomcat. org.eclipse.jetty.
    io.undertow. io.netty. io.vertx. io.quarkus. io.micronaut. io.helidon. org.jboss. org.wildfly.
    org.glassfish. org.springdoc. feign. okhttp3. retrofit2. reactor. rx. io.reactivex. io.grpc.
    org.apache.http. org.apache.hc. org.apache.dubbo. org.apache.cxf. org.apache.axis.
    org.hibernate. com.zaxxer.hikari. com.mysql. org.postgresql. com.mongodb. redis.clients. io.lettuce.
    org.apache.kafka. org.apache.ibatis. org.mybatis. com.rabbitmq. com.fasterxml.jackson. oracle.jdbc.
    ch.qos.logback. org.slf4j. org.apache.logging. org.apache.log4j. io.micrometer. io.opentelemetry.
    org.apache.skywalking. net.bytebuddy. net.sf.cglib. org.aspectj. javassist. lombok. com.netflix.
    com.alibaba.druid. io.sentry.
    org.junit. junit. org.testng. org.mockito. org.hamcrest. org.assertj. org.apache.maven.
    org.apache.tools.ant. org.gradle. worker.org.gradle. com.intellij. org.opentest4j.
    """.split()  # noqa: SIM905 - one line a kind is easier to read and to extend
)
# Written at run time: reflection, proxies (https://docs.oracle.com/javase/8/docs/api/java/lang/reflect/Proxy.html).
_GENERATED = re.compile(
    r"\$\$(?:Enhancer|FastClass|Lambda|SpringCGLIB)|(?:^|\.)\$?Proxy\d+$|Generated(?:Method|Constructor)Accessor"
)


def in_app(function: str, module: str) -> bool:
    """False for the platform, well-known frameworks and generated classes; True for the rest."""
    return bool(module) and not module.startswith(_FOREIGN) and not _GENERATED.search(module)
