/// A certificate authority for tests, with a server and a client certificate.
package final class Certificates: Sendable {
    private let folder: TemporaryFolder

    package init() async throws {
        folder = try TemporaryFolder()
        let script = """
            set -e
            openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=ca -keyout ca.key -out ca.pem
            openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=other -keyout other.key -out other.pem
            printf 'subjectAltName=DNS:localhost' > names
            for name in server client; do
                openssl req -newkey rsa:2048 -nodes -subj /CN=$name -keyout $name.key -out $name.csr
                openssl x509 -req -days 2 -in $name.csr -CA ca.pem -CAkey ca.key -CAcreateserial -extfile names -out \
            $name.pem
            done
            """
        let result = try await Program(path: "/bin/sh").run(["-c", script], directory: folder.path)
        guard result.exitCode == 0 else { throw Broker.Missing(description: "openssl: \(result.error)") }
    }

    package func file(_ name: String) -> String { folder.file(name) }
}
