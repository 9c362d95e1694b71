import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.util.Base64;

/** Answers each line, an expression of SQL in base64, with H2's type and value, or with ! and why it cannot be had. */
public class Oracle {
    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try (Connection h2 = DriverManager.getConnection("jdbc:h2:mem:;TIME ZONE=UTC"); Statement statement = h2.createStatement()) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String query = "SELECT " + new String(Base64.getDecoder().decode(line), StandardCharsets.UTF_8);
                try (ResultSet found = statement.executeQuery(query)) {
                    found.next();
                    out.println(type(found) + "\t" + value(found));
                } catch (SQLException error) {
                    out.println("!\t" + error.getMessage().replaceAll("\\s+", " "));
                }
            }
        }
    }

    private static String type(ResultSet found) throws SQLException {
        String name = found.getMetaData().getColumnTypeName(1);
        if (found.getMetaData().getColumnType(1) != Types.NUMERIC) {
            return name;
        }
        return "NUMERIC(" + found.getMetaData().getPrecision(1) + ", " + found.getMetaData().getScale(1) + ")";
    }

    private static String value(ResultSet found) throws SQLException {
        Object value = found.getObject(1);
        if (value == null) {
            return "null";
        }
        if (value instanceof byte[]) {
            return "x'" + java.util.HexFormat.of().formatHex((byte[]) value) + "'";
        }
        String text = found.getString(1);
        return value instanceof String ? quoted(text) : text;
    }

    private static String quoted(String text) {
        StringBuilder quoted = new StringBuilder("'");
        for (char sign : text.toCharArray()) {
            quoted.append(sign < ' ' || sign == '\\' || sign > '\uffef'
                ? String.format("\\u%04x", (int) sign) : String.valueOf(sign));
        }
        return quoted.append("'").toString();
    }
}
