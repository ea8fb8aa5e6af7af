package org.elasticsearch.node;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.elasticsearch.common.logging.LogConfigurator;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.env.Environment;
import org.elasticsearch.http.HttpServerTransport;
import org.elasticsearch.plugins.ClasspathPlugins;
import org.elasticsearch.plugins.Plugin;
import org.elasticsearch.plugins.PluginsLoader;
import org.elasticsearch.plugins.PluginsService;
import org.elasticsearch.transport.netty4.Netty4Plugin;

/** One Elasticsearch node on loopback for tests. Prints "READY port"; ends when its standard input does. */
public final class TestNode extends Node {
    private TestNode(Environment environment, List<Class<? extends Plugin>> plugins) {
        super(NodeConstruction.prepareConstruction(environment, ClasspathPlugins.noBundles(), new NodeServiceProvider() {
            @Override
            PluginsService newPluginService(Environment env, PluginsLoader loader) {
                return new ClasspathPlugins(env, plugins);
            }
        }, true));
    }

    public static void main(String[] args) throws Exception {
        PrintStream out = System.out;
        Path home = Path.of(args[0]);
        Files.createDirectories(home.resolve("config"));
        LogConfigurator.loadLog4jPlugins();
        LogConfigurator.configureESLogging();
        Settings settings = Settings.builder()
            .put("cluster.name", "receipts-test").put("node.name", "n1")
            .put("path.home", home.toString())
            .put("discovery.type", "single-node").put("network.host", "127.0.0.1")
            .put("http.port", args.length > 1 ? args[1] : "0").put("transport.port", "0")
            .put("node.processors", 1).put("node.store.allow_mmap", false)
            .put("indices.breaker.total.use_real_memory", false)
            .put("cluster.routing.allocation.disk.threshold_enabled", false)
            .put("action.auto_create_index", false)
            .build();
        Environment environment = InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), home.resolve("config"), () -> "n1");
        TestNode node = new TestNode(environment, List.of(Netty4Plugin.class, RootPlugin.class));
        node.start();
        out.println("READY " + node.injector().getInstance(HttpServerTransport.class).boundAddress().publishAddress().getPort());
        out.flush();
        waitForEndOfInput();
        node.close();
        node.awaitClose(10, TimeUnit.SECONDS);
        System.exit(0);
    }

    private static void waitForEndOfInput() throws IOException {
        while (System.in.read() != -1) { }
    }
}
