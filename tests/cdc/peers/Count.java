import io.debezium.embedded.Connect;
import io.debezium.engine.ChangeEvent;
import io.debezium.engine.DebeziumEngine;
import java.io.Reader;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import org.apache.kafka.connect.source.SourceRecord;

/** java -cp 'JARS/*' Count.java PROPERTIES COUNT...: the processor time of this process at each of these numbers of events. */
public class Count {
    static long seen = 0;
    static int next = 1;

    public static void main(String[] arguments) throws Exception {
        Properties properties = new Properties();
        try (Reader reader = Files.newBufferedReader(Path.of(arguments[0]))) {
            properties.load(reader);
        }
        var system = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        DebeziumEngine<ChangeEvent<SourceRecord, SourceRecord>> engine =
                DebeziumEngine.create(Connect.class).using(properties).notifying((events, committer) -> {
                    for (ChangeEvent<SourceRecord, SourceRecord> event : events) {
                        committer.markProcessed(event);
                        if (!(event.value().value() instanceof org.apache.kafka.connect.data.Struct change)
                                || change.schema().field("op") == null) {
                            continue;
                        }
                        seen++;
                        while (next < arguments.length && seen == Long.parseLong(arguments[next])) {
                            System.out.println("AT " + seen + " " + system.getProcessCpuTime());
                            System.out.flush();
                            next++;
                        }
                    }
                    committer.markBatchFinished();
                }).using((success, message, error) -> {
                    if (!success) {
                        System.err.println(message);
                    }
                }).build();
        Thread reading = new Thread(engine);
        reading.start();
        while (reading.isAlive() && next < arguments.length) {
            Thread.sleep(100);
        }
        Thread.sleep(1500);
        engine.close();
        System.exit(0);
    }
}
