import ArgumentParser
import CommandSupport
import Foundation

struct Pair: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pair",
        abstract: "Lets a browser or a script in: a code that is good once, for five minutes.",
        discussion:
            """
            Asks the running service. The page at /pair takes the code; from this machine itself none is needed to \
            look.
            """
    )

    @OptionGroup var place: StoreOptions

    @Option(help: "What it may do: read, log, control or admin, each with the ones before it.")
    var scope = "control"

    @Option(help: "What it is for: shown in the list of tokens.")
    var label = "browser"

    @Flag(help: "One JSON object on standard output.")
    var json = false

    func validate() throws {
        guard ["read", "log", "control", "admin"].contains(scope) else {
            throw ValidationError("--scope is read, log, control or admin.")
        }
    }

    private struct Answer: Codable {
        var code: String
        var seconds: Int
        var scope: String
        var urls: [String]
    }

    func run() throws {
        let store = try place.place(try Configuration.load(place.config))
        let data = try ServiceSocket(path: ServiceSocket.path(forStore: store.path)).post(
            "/api/v1/pairings", ["scope": .string(scope), "label": .string(label)])
        guard let answer = try? JSONDecoder().decode(Answer.self, from: data) else {
            throw CommandFailure(.failed, "The service's answer cannot be read.")
        }
        if json {
            TextOutput.standard.line(String(decoding: data, as: UTF8.self))
            return
        }
        let out = TextOutput.standard
        if let url = answer.urls.first {
            let address = "\(url)pair#\(answer.code)"
            for line in QRCode.lines(address) ?? [] { out.line(line) }
            out.line("Open \(address)")
            out.line(
                """
                or enter the code \(answer.code.prefix(4)) \(answer.code.suffix(4)) there, within \
                \(answer.seconds / 60) minutes.
                """
            )
        } else {
            out.line(
                """
                The code is \(answer.code.prefix(4)) \(answer.code.suffix(4)), good for \(answer.seconds / 60) \
                minutes.
                """
            )
            out.line("The page is shown on this machine only. For others: listen = \"0.0.0.0:8077\" in waterh.toml.")
        }
    }
}
