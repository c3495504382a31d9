import ArgumentParser
import CommandKit
import FleetServer
import FleetStore
import Foundation

struct EnrolCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enrol",
        abstract: "Lets a gateway tell its drinks, or somebody look: prints the credential, once.",
        discussion: """
            Only a hash of it is kept, so that it cannot be shown again. A name that was enrolled once is never given \
            again. Who was forgotten and is named here for a gateway, or is
            called like it, is known again.
            """)

    @Argument(
        help:
            """
            How the gateway is called: a-z, A-Z, digits, - and _, beginning with a letter. Where it lists no \
            people, its one person is called so.
            """
    )
    var name: String

    @Option(
        help: "Of whom it may tell, as listed there, beside the one who is called like it; can be given several times.")
    var person: [String] = []

    @Flag(help: "It may tell of anybody.")
    var anybody = false

    @Flag(help: "A credential that only looks: the overview, people's pages, the figures.")
    var reader = false

    @Flag(help: "A credential that looks at those people only whom --person names; --anybody: at all.")
    var carer = false

    @Flag(help: "A credential that looks at everything, reads the audit, and can have a person forgotten.")
    var admin = false

    @Flag(help: "Takes the credential back, for good.")
    var revoke = false

    @OptionGroup var database: DatabaseOptions

    func validate() throws {
        guard name.wholeMatch(of: /[A-Za-z][A-Za-z0-9_-]{0,63}/) != nil else {
            throw ValidationError("A name has 1 to 64 letters a-z and A-Z, digits, - and _, and begins with a letter.")
        }
        let roles = [reader, carer, admin].filter(\.self).count
        guard !(revoke && (roles > 0 || anybody || !person.isEmpty)) else {
            throw ValidationError("--revoke needs the name only.")
        }
        guard roles < 2 else { throw ValidationError("One of --reader, --carer and --admin, not several.") }
        guard !(reader || admin) || (person.isEmpty && !anybody) else {
            throw ValidationError(
                "Who looks at all tells of nobody: --reader and --admin go without --person and --anybody.")
        }
        guard !carer || anybody || !person.isEmpty else {
            throw ValidationError("Say for whom it cares: --person NAME, or --anybody.")
        }
        try AllowCommand.check(person, anybody)
    }

    func run() throws {
        if revoke {
            guard try database.use({ try $0.revoke(name) }) else {
                throw CommandFailure(
                    .refused, "Nobody was enrolled as \(name).", advice: "waterh-fleet report shows who was.")
            }
            TextOutput.standard.line("\(name) is let in no more.")
            return
        }
        var random = SystemRandomNumberGenerator()
        let credential = FleetCredential.text(
            random: (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &random) })
        let role: FleetVisitor.Role = reader ? .reader : carer ? .carer : admin ? .admin : .gateway
        let (back, isNew) = try database.use {
            (
                role == .gateway ? try $0.forgotten(among: person + [name]) : [],
                try $0.enrol(
                    name, as: role, id: UUID().uuidString.lowercased(), token: FleetCredential.hash(credential),
                    people: anybody ? nil : person)
            )
        }
        guard isNew else {
            throw CommandFailure(
                .refused, "\(name) was enrolled before, and its credential cannot be shown again.",
                advice: "Enrol it under another name, and take the old one back with --revoke.")
        }
        // Apart from the credential, which goes into a file.
        AllowCommand.tell(back, to: TextOutput(descriptor: STDERR_FILENO))
        TextOutput.standard.line(credential)
    }
}
