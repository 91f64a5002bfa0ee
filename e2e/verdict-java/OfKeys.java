// Says how many keys Jackson finds in a text, by its defaults. As verdict/of_keys.py.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.HexFormat;
import java.util.Map;

public class OfKeys {
    static int keys(JsonNode value) {
        int n = value.isObject() ? value.size() : 0;
        for (JsonNode inner : value) {
            n += keys(inner);
        }
        return n;
    }

    interface Parse {
        JsonNode of(byte[] text) throws IOException;
    }

    static int count(Parse parse, byte[] text) {
        try {
            return keys(parse.of(text));
        } catch (IOException e) {
            return -1;
        }
    }

    public static void main(String[] args) throws IOException {
        ObjectMapper mapper = new ObjectMapper();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null;) {
            byte[] text = HexFormat.of().parseHex(line);
            int tree = count(mapper::readTree, text);
            int map = count(t -> mapper.valueToTree(mapper.readValue(t, Map.class)), text);
            System.out.println("{\"Jackson\":" + tree + ",\"Jackson's Map\":" + map + "}");
        }
    }
}
