import PACKAGE.Config;
import PACKAGE.ConfigFactory;
import PACKAGE.ConfigParseOptions;
import PACKAGE.ConfigRenderOptions;
import PACKAGE.ConfigResolveOptions;
import PACKAGE.ConfigSyntax;
import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/** Reads names of HOCON files from standard input, a line each, and writes the content of each as one line of JSON. */
public final class Oracle {
    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(System.out, true, "UTF-8");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String name = in.readLine(); name != null; name = in.readLine()) {
            String answer;
            try {
                Config parsed = ConfigFactory.parseFile(
                        new File(name), ConfigParseOptions.defaults().setSyntax(ConfigSyntax.CONF).setAllowMissing(false));
                Config resolved = parsed.resolve(ConfigResolveOptions.defaults().setUseSystemEnvironment(false));
                answer = resolved.root().render(ConfigRenderOptions.concise());
            } catch (Exception | StackOverflowError error) {
                answer = "! " + error.getClass().getSimpleName() + ": " + String.valueOf(error.getMessage());
            }
            out.println(answer.replace("\n", "\\n").replace("\r", "\\r"));
        }
    }
}
