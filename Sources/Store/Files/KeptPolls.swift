import Foundation

/// The folder beside a store in which a service keeps the polls that went wrong: of each a capture and its story, both with the store's drinks.
public enum KeptPolls {
    /// - Parameter store: the store's path.
    public static func folder(beside store: String) -> String { store + "-polls" }

    /// Whether a file of that folder is a kept poll's: `20261123T180102003.btsnoop` or `.txt`. Others are somebody's own.
    public static func isOurs(_ name: String) -> Bool { name.wholeMatch(of: /\d+T\d+\.(?:btsnoop|txt)/) != nil }

    /// Removes what is kept, and the folder if nothing else is in it.
    /// - Throws: what the file system says.
    static func remove(beside store: String) throws {
        let (files, folder) = (FileManager.default, folder(beside: store))
        guard store != ":memory:", let names = try? files.contentsOfDirectory(atPath: folder) else { return }
        for name in names where isOurs(name) { try files.removeItem(atPath: folder + "/" + name) }
        if names.allSatisfy(isOurs) { try files.removeItem(atPath: folder) }
    }
}
