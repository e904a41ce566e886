//! `plumb cluster manifest --kubernetes`: an Indexed Job that Kubernetes can read, with the job file, a secret and a
//! volume. Its command runs in `make cluster`.

use crate::cluster::yaml;
use crate::context::{cluster, place};
use house::{Place, Run};
use serde_json::{Value, json};

fn manifest(directory: &Place, words: &str) -> Run {
    cluster(directory, "manifest --kubernetes").words(words)
}

fn parts(text: &str) -> [Value; 4] {
    let found: Vec<Value> = yaml(text).into_iter().filter(|document| !document.is_null()).collect();
    found.try_into().unwrap_or_else(|found| panic!("{found:?}"))
}

#[test]
fn pods_are_an_indexed_job_with_the_secret_and_a_named_leader() {
    let place = place();
    let job = "; a \"job\": \\ \n[w]\nrw=write\nsize=4k\nfilename=f.${PLUMB_RANK}\n";
    place.write("job.fio", job);
    let words = "--members 4 --image r/plumb:1 --volume fast:20Gi -- --json fio job.fio --description=$(RANK)";
    let text = manifest(&place, words).stdout();
    let [map, secret, service, run] = parts(&text);
    let kinds = [&map, &secret, &service, &run].map(|part| format!("{} {}", part["apiVersion"], part["kind"]));
    assert_eq!(kinds, ["\"v1\" \"ConfigMap\"", "\"v1\" \"Secret\"", "\"v1\" \"Service\"", "\"batch/v1\" \"Job\""]);
    assert_eq!(map["data"]["job.fio"], job);
    let drawn = secret["stringData"]["secret"].as_str().unwrap();
    assert!(drawn.len() == 64 && drawn.bytes().all(|byte| byte.is_ascii_hexdigit()), "{drawn}");
    assert!(!manifest(&place, words).stdout().contains(drawn), "each manifest has another one");
    let spec = &run["spec"];
    assert_eq!(
        (&spec["completionMode"], &spec["completions"], &spec["parallelism"], &spec["backoffLimit"]),
        (&"Indexed".into(), &4.into(), &4.into(), &0.into())
    );
    // plumb-0.plumb is the first pod: job, index, and the service that selects the pods.
    let (pod, labels) = (&spec["template"]["spec"], &spec["template"]["metadata"]["labels"]);
    assert_eq!((&run["metadata"]["name"], &pod["subdomain"]), (&"plumb".into(), &"plumb".into()));
    assert_eq!((&service["metadata"]["name"], &service["spec"]["clusterIP"]), (&"plumb".into(), &"None".into()));
    assert_eq!((&service["spec"]["selector"], &service["spec"]["ports"][0]["port"]), (labels, &8766.into()));
    let container = &pod["containers"][0];
    let expected = "plumb cluster --lead 4 --join plumb-0.plumb --rank $(RANK) --join-within 15m --directory /data --json fio job.fio --description=$$(RANK)";
    assert_eq!(container["command"], json!(expected.split(' ').collect::<Vec<_>>()));
    assert_eq!((&container["image"], &container["workingDir"]), (&"r/plumb:1".into(), &"/job".into()));
    assert_eq!(container["env"][1], json!({ "name": "PLUMB_SECRET_FILE", "value": "/secret/secret" }));
    let source = &pod["volumes"][2]["ephemeral"]["volumeClaimTemplate"]["spec"];
    assert_eq!((&source["storageClassName"], &source["volumeMode"]), (&"fast".into(), &"Filesystem".into()));
    assert_eq!(source["resources"]["requests"]["storage"], "20Gi");
    let mounts: Vec<&str> = container["volumeMounts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|mount| mount["mountPath"].as_str().unwrap())
        .collect();
    assert_eq!(mounts, ["/job", "/secret", "/data"]);
    assert_eq!(
        (&pod["volumes"][0]["configMap"]["name"], &pod["volumes"][1]["secret"]["secretName"]),
        (&map["metadata"]["name"], &secret["metadata"]["name"])
    );
}

#[test]
fn a_volume_is_a_device_or_a_claim_of_all_pods_as_asked() {
    let place = place();
    let device = "--members 2 --image i --volume c:1Gi --block -- fio --name=a --size=4k --filename=/dev/plumb-volume";
    let text = manifest(&place, device).stdout();
    let [map, _, _, run] = parts(&text);
    assert_eq!(map["data"], json!({}));
    let pod = &run["spec"]["template"]["spec"];
    assert_eq!(pod["containers"][0]["volumeDevices"], json!([{ "name": "data", "devicePath": "/dev/plumb-volume" }]));
    assert_eq!(pod["volumes"][2]["ephemeral"]["volumeClaimTemplate"]["spec"]["volumeMode"], "Block");
    assert!(text.contains("wipefs"), "{text}");
    let claim = "--members 2 --image i --claim shared -- --directory /data/sub fio --name=a --size=4k";
    let text = manifest(&place, claim).stdout();
    let [.., run] = parts(&text);
    let pod = &run["spec"]["template"]["spec"];
    assert_eq!(pod["volumes"][2]["persistentVolumeClaim"]["claimName"], "shared");
    let command = pod["containers"][0]["command"].as_array().unwrap();
    assert_eq!(command.iter().filter(|word| *word == "--directory").count(), 1, "{command:?}");
    assert!(!text.contains("wipefs"), "{text}");
}

#[test]
fn a_manifest_of_pods_that_could_not_run_is_refused() {
    let place = place();
    for (words, says) in [
        ("--members 2 --volume c:1Gi -- fio --name=a --size=4k", "--image IMAGE"),
        ("--members 2 --image i -- fio --name=a --size=4k", "--volume CLASS:SIZE"),
        ("--members 2 --image i --volume 1Gi -- fio --name=a --size=4k", "CLASS:SIZE"),
        ("--members 2 --image i --claim c --block -- fio --name=a --size=4k", "cannot be used with"),
        ("--members 2 --image i --claim c --volume c:1Gi -- fio --name=a --size=4k", "cannot be used with"),
        ("--members 2 --image i --claim c --nodes 2 -- fio --name=a --size=4k", "cannot be used with"),
        ("--members 2 --image i --claim c -- --keep d fio --name=a --size=4k", "--keep writes a file into a pod"),
        ("--members 2 --image i --claim c -- --secret-file s fio --name=a --size=4k", "in the manifest already"),
        ("--members 2 --image i --claim c -- fio --name=a --bs=4q", "bs=4q"),
    ] {
        let run = manifest(&place, words).fails().complains(says);
        assert!(run.stdout.is_empty(), "{run}");
    }
}
