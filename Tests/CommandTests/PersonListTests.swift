import CommandKit
import CommandStore
import Foundation
import Support
import Testing

/// Several people in waterh.toml: what may stand there, and which store a command means.
@Suite struct PersonListTests {
    private static let anna = "[[person]]\nname = \"anna\"\nstore = \"/s/anna.sqlite\"\n"

    @Test func aListIsRead() throws {
        let text =
            "link = \"bluez\"\nkeep = true\n" + Self.anna
                + """
                goal = 2200\nbottles = [\"A4:C1:38:01:02:03\", \"Blue\"]\nlink = \"bluez:hci1\"\nshare-waterline = \
                true\n
                """
            + "[[person]]\nname = \"Ben_2-x\"\nstore = \"/s/ben.sqlite\"\n"
        let file = try Configuration(text: text, name: "waterh.toml")
        #expect(file.people.map(\.name) == ["anna", "Ben_2-x"] && file.keep == true && file.link == "bluez")
        let anna = file.people[0]
        #expect(
            anna.goalMl == 2200 && anna.bottles == ["A4:C1:38:01:02:03", "Blue"] && anna.link == "bluez:hci1"
                && anna.shareWaterline == true)
        #expect(file.people[1].bottles.isEmpty && file.people[1].goalMl == nil && file.people[1].shareWaterline == nil)
        #expect(try Configuration(text: "keep = true", name: "waterh.toml").people.isEmpty)
    }

    @Test func theShippedExampleIsRead() throws {
        let text = try String(contentsOfFile: Program.repository + "/hardware/units/waterh.toml", encoding: .utf8)
        #expect(try Configuration(text: text, name: "waterh.toml").people.map(\.name) == ["anna", "ben"])
    }

    /// What is wrong is said with whose it is, and nothing is taken for something else.
    @Test(arguments: [
        ("person = \"anna\"", "list of people"),
        ("[person]\nname = \"anna\"", "list of people"),
        ("person = [1]", "list of people"),
        ("person = []", "list of people"),
        ("[[person]]\nstore = \"/s/a\"", "'name' of person 1"),
        ("[[person]]\nname = \"anna\"", "'store' of person 1 (anna)"),
        ("[[person]]\nname = 3\nstore = \"/s/a\"", "'name' of person 1"),
        ("[[person]]\nname = \"../anna\"\nstore = \"/s/a\"", "beginning with a letter"),
        ("[[person]]\nname = \"Änne\"\nstore = \"/s/a\"", "beginning with a letter"),
        ("[[person]]\nname = \"an na\"\nstore = \"/s/a\"", "beginning with a letter"),
        ("[[person]]\nname = \"2anna\"\nstore = \"/s/a\"", "beginning with a letter"),
        ("[[person]]\nname = \"\(String(repeating: "a", count: 33))\"\nstore = \"/s/a\"", "beginning with a letter"),
        (anna + "goal = \"much\"", "'goal' of person 1 (anna)"),
        (anna + "goal = 50", "'goal' of person 1 (anna)"),
        (anna + "goal = 9223372036854775807", "'goal' of person 1 (anna)"),
        (anna + "bottles = \"A4:C1:38:01:02:03\"", "'bottles' of person 1 (anna)"),
        (anna + "bottles = [\"\"]", "'bottles' of person 1 (anna)"),
        (anna + "bottles = [3]", "'bottles' of person 1 (anna)"),
        (anna + "share-waterline = \"yes\"", "'share-waterline' of person 1 (anna)"),
        (anna + "colour = \"blue\"", "unknown key 'colour' at person 1 (anna)"),
        (anna + "[[person]]\nname = \"ANNA\"\nstore = \"/s/b\"", "two people of the name ANNA"),
        (
            anna + "[[person]]\nname = \"b-c\"\nstore = \"/s/b\"\n[[person]]\nname = \"b_c\"\nstore = \"/s/c\"",
            "b-c and b_c would be one person at a broker: both are written b_c"
        ),
        (
            anna + "[[person]]\nname = \"B-_c\"\nstore = \"/s/b\"\n[[person]]\nname = \"b_c-\"\nstore = \"/s/c\"",
            "B-_c and b_c- would be one person"
        ),
        (
            anna
                + """
                bottles = [\"a4-c1-38-01-02-03\"]\n[[person]]\nname = \"ben\"\nstore = \"/s/b\"\nbottles = \
                [\"A4:C1:38:01:02:03\"]
                """,
            "at anna and at ben"
        ),
        (anna + "bottles = [\"Blue\", \"blue\"]", "twice at anna"),
        ("store = \"/s/all\"\n" + anna, "'store' cannot be everybody's"),
        ("bottle = \"Blue\"\n" + anna, "'bottle' cannot be everybody's"),
        ((0...32).map { "[[person]]\nname = \"p\($0)\"\nstore = \"/s/\($0)\"\n" }.joined(), "33 people"),
    ])
    func aWrongListIsRefused(_ text: String, _ said: String) {
        let failure = #expect(throws: CommandFailure.self) { try Configuration(text: text, name: "waterh.toml") }
        #expect(
            failure?.status == .badInput && failure?.sentence.contains(said) == true
                && failure?.advice?.isEmpty == false, "\(failure?.sentence ?? "")")
    }

    /// A flag or a person, the environment, the first of the list: the store of each, and whose it is.
    @Test func aCommandMeansOneStore() throws {
        let folder = try TemporaryFolder()
        let (anna, ben) = (folder.file("anna.sqlite"), folder.file("ben.sqlite"))
        let file = try Configuration(
            text: "[[person]]\nname = \"anna\"\nstore = \"\(anna)\"\n[[person]]\nname = \"ben\"\nstore = \"\(ben)\"\n",
            name: "waterh.toml")
        func place(_ flag: String? = nil, _ person: String? = nil, _ environment: [String: String] = [:]) throws
            -> StorePlace
        {
            try StorePlace.find(flag, person: person, file, environment: environment)
        }
        let told: [(StorePlace, String, String?)] = [
            (try place(), anna, "anna"), (try place(nil, "ben"), ben, "ben"),
            (try place(nil, "ben", ["WATERH_STORE": anna]), ben, "ben"),
            (try place(ben), ben, "ben"), (try place("/s/other"), "/s/other", nil),
            (try place(nil, nil, ["WATERH_STORE": ben]), ben, "ben"),
        ]
        for (found, path, person) in told { #expect(found.path == path && found.person?.name == person) }
        #expect(throws: CommandFailure.self) { try place(ben, "ben") }
        let nobody = #expect(throws: CommandFailure.self) { try place(nil, "Anna") }
        #expect(nobody?.status == .wrongUse && nobody?.advice?.contains("anna, ben") == true)
        #expect(throws: CommandFailure.self) {
            try StorePlace.find(nil, person: "anna", Configuration(), environment: [:])
        }
    }

    /// One store for two is refused by whatever way it is named, and so is a folder that is not there.
    @Test(arguments: [
        "anna.sqlite", "./x/../anna.sqlite", "symbolic", "hard", "folder/anna.sqlite", "dangling", "nowhere/ben.sqlite",
    ])
    func aStoreIsOnePersons(_ bens: String) throws {
        let folder = try TemporaryFolder()
        let files = FileManager.default
        try files.createDirectory(at: folder.url("x"), withIntermediateDirectories: true)
        let isNew = bens == "dangling" || bens == "folder/anna.sqlite"
        if !isNew { try Data().write(to: folder.url("anna.sqlite")) }
        try files.createSymbolicLink(atPath: folder.file("symbolic"), withDestinationPath: folder.file("anna.sqlite"))
        try files.createSymbolicLink(atPath: folder.file("dangling"), withDestinationPath: "anna.sqlite")
        try files.createSymbolicLink(atPath: folder.file("folder"), withDestinationPath: folder.path)
        if !isNew { try files.linkItem(atPath: folder.file("anna.sqlite"), toPath: folder.file("hard")) }
        let file = try Configuration(
            text:
                """
                [[person]]\nname = \"anna\"\nstore = \"\(folder.file("anna.sqlite"))\"\n[[person]]\nname = \
                \"ben\"\nstore = \"\(folder.file(bens))\"\n
                """,
            name: "waterh.toml")
        let failure = #expect(throws: CommandFailure.self) { try file.checkStores() }
        let isMissing = bens.hasPrefix("nowhere")
        #expect(
            failure?.sentence.contains(isMissing ? "does not exist" : "anna and ben have one store") == true,
            "\(failure?.sentence ?? "")")
        #expect(failure?.advice?.contains(isMissing ? "mkdir" : "file of their own") == true)
    }

    /// Which link is a person's is said in one order, whoever asks: the flag, the environment, the person, everybody.
    @Test func everyCommandMeansOneLinkAndOneZone() throws {
        let file = try Configuration(
            text: "link = \"bluez:hci1\"\nzone = \"Europe/Berlin\"\n" + Self.anna
                + "link = \"bluez:hci2\"\n[[person]]\nname = \"ben\"\nstore = \"/s/b\"\n", name: "waterh.toml")
        let (anna, ben) = (file.people[0], file.people[1])
        let named = ["WATERH_LINK": "unix:/e", "WATERH_ZONE": "Asia/Tokyo", "WATERH_BOTTLE": "Blue"],
            empty = ["WATERH_LINK": "", "WATERH_ZONE": "", "WATERH_BOTTLE": ""]
        #expect(file.link(of: anna, flag: "unix:/f", environment: named) == "unix:/f")
        #expect([anna, ben, nil].map { file.link(of: $0, environment: named) } == ["unix:/e", "unix:/e", "unix:/e"])
        #expect(
            [anna, ben, nil].map { file.link(of: $0, environment: empty) } == [
                "bluez:hci2", "bluez:hci1", "bluez:hci1",
            ])
        #expect(Configuration().link(of: nil, environment: [:]) == "bluez")
        #expect(
            [
                file.zone(flag: "UTC", environment: named), file.zone(flag: nil, environment: named),
                file.zone(flag: nil, environment: empty),
            ] == ["UTC", "Asia/Tokyo", "Europe/Berlin"])
        #expect(
            file.bottle(flag: "Red", environment: named) == "Red"
                && file.bottle(flag: nil, environment: named) == "Blue"
                && file.bottle(flag: nil, environment: empty) == nil)
    }
}
